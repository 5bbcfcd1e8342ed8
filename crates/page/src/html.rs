//! A page in the making.

use std::fmt::Write;

use super::bars::{Bar, bars};
use super::escape::html;
use super::plot::{BROAD, NARROW, Plot};

/// Texts that are longer may break into lines.
const LONG: usize = 48;

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    text: String,
    class: &'static str,
    /// A file beside the page.
    link: Option<String>,
}

impl Cell {
    fn new(text: impl Into<String>, class: &'static str) -> Cell {
        Cell {
            text: text.into(),
            class,
            link: None,
        }
    }

    /// Leads to a file beside the page, of a name as [`super::escape::file_name`] makes them.
    pub fn with_link(mut self, file: impl Into<String>) -> Cell {
        self.link = Some(file.into());
        self
    }

    /// Whether it is empty, or a dash in place of a figure.
    pub fn is_empty(&self) -> bool {
        matches!(self.text.as_str(), "" | "-")
    }

    /// Text, to the left.
    pub fn text(text: impl Into<String>) -> Cell {
        Cell::new(text, "")
    }

    /// A number, to the right.
    pub fn number(text: impl Into<String>) -> Cell {
        Cell::new(text, "n")
    }

    /// Something good.
    pub fn good(text: impl Into<String>) -> Cell {
        Cell::new(text, "good")
    }

    /// Something bad.
    pub fn bad(text: impl Into<String>) -> Cell {
        Cell::new(text, "bad")
    }

    /// Something to look at twice.
    pub fn caution(text: impl Into<String>) -> Cell {
        Cell::new(text, "caution")
    }
}

/// A page in the making. Every text that is handed in is escaped.
#[derive(Debug)]
pub struct Page {
    title: String,
    body: String,
}

impl Page {
    /// An empty page with this title and heading.
    pub fn new(title: &str) -> Page {
        let mut page = Page {
            title: title.to_owned(),
            body: String::new(),
        };
        page.element("h1", title);
        page
    }

    /// A heading of a section.
    pub fn section(&mut self, heading: &str) -> &mut Page {
        self.element("h2", heading)
    }

    /// A heading of a part of a section.
    pub fn part(&mut self, heading: &str) -> &mut Page {
        self.element("h3", heading)
    }

    /// A paragraph.
    pub fn paragraph(&mut self, text: &str) -> &mut Page {
        self.element("p", text)
    }

    /// A paragraph of less weight.
    pub fn remark(&mut self, text: &str) -> &mut Page {
        self.push(&format!("<p class=\"remark\">{}</p>\n", html(text)))
    }

    /// A figure that stands out: a score.
    pub fn headline(&mut self, figure: &str, caption: &str) -> &mut Page {
        self.push(&format!(
            "<p class=\"headline\"><strong>{}</strong> {}</p>\n",
            html(figure),
            html(caption)
        ))
    }

    /// Lines as they are, in a type of fixed width.
    pub fn verbatim(&mut self, text: &str) -> &mut Page {
        self.push(&format!("<pre>{}</pre>\n", html(text.trim_end())))
    }

    /// A command that can be typed.
    pub fn command(&mut self, text: &str) -> &mut Page {
        self.push(&format!(
            "<p class=\"command\"><code>{}</code></p>\n",
            html(text)
        ))
    }

    /// A list.
    pub fn list<T: AsRef<str>>(&mut self, items: impl IntoIterator<Item = T>) -> &mut Page {
        self.body.push_str("<ul>\n");
        for item in items {
            self.element("li", item.as_ref());
        }
        self.push("</ul>\n")
    }

    /// A table. A row of a single cell is a heading of the rows under it.
    pub fn table(
        &mut self,
        headers: &[Cell],
        rows: impl IntoIterator<Item = Vec<Cell>>,
    ) -> &mut Page {
        let line = |tag: &str, cells: &[Cell]| {
            let mut line = String::from("<tr>");
            for Cell { text, class, link } in cells {
                // Short texts stay in one line; the table scrolls where it is too wide.
                let long = if text.len() > LONG { "long" } else { "" };
                let class = match format!("{class} {long}").trim() {
                    "" => String::new(),
                    classes => format!(" class=\"{classes}\""),
                };
                let text = match link {
                    // With the folder named, no name is one of a scheme.
                    Some(file) => format!("<a href=\"./{}\">{}</a>", html(file), html(text)),
                    None => html(text),
                };
                // Writing to a string does not fail.
                let _ = write!(line, "<{tag}{class}>{text}</{tag}>");
            }
            line + "</tr>\n"
        };
        self.body.push_str("<div class=\"wide\"><table>\n<thead>");
        self.body.push_str(&line("th", headers));
        self.body.push_str("</thead>\n<tbody>\n");
        for row in rows {
            match &row[..] {
                [heading] if headers.len() > 1 => {
                    let _ = writeln!(
                        self.body,
                        "<tr><th class=\"group\" colspan=\"{}\" scope=\"rowgroup\"><span>{}</span></th></tr>",
                        headers.len(),
                        html(&heading.text)
                    );
                }
                row => self.body.push_str(&line("td", row)),
            }
        }
        self.push("</tbody></table></div>\n")
    }

    /// A plot, and what it shows; nothing, if there is nothing to plot.
    pub fn plot(&mut self, plot: &Plot, caption: &str) -> &mut Page {
        match (plot.svg(BROAD), plot.svg(NARROW)) {
            (Ok(broad), Ok(narrow)) => self.figure(&broad, &narrow, caption),
            _ => self,
        }
    }

    /// Bars, and what they show; nothing, if there are none.
    pub fn bars(&mut self, of: &[Bar], caption: &str) -> &mut Page {
        if of.is_empty() {
            return self;
        }
        self.figure(&bars(of, BROAD), &bars(of, NARROW), caption)
    }

    /// Drawn for a desk and for a phone, of which the style sheet shows one.
    fn figure(&mut self, broad: &str, narrow: &str, caption: &str) -> &mut Page {
        let caption = html(caption);
        let named = |svg: &str| {
            let label = format!("<svg role=\"img\" aria-label=\"{caption}\" ");
            svg.replacen("<svg role=\"img\" ", &label, 1)
        };
        self.push(&format!(
            "<figure><div class=\"broad\">{}</div><div class=\"narrow\">{}</div><figcaption>{caption}</figcaption></figure>\n",
            named(broad),
            named(narrow)
        ))
    }

    /// A PNG picture in Base64, and what it shows.
    pub fn png(&mut self, base64: &str, alternative: &str, caption: &str) -> &mut Page {
        self.push(&format!(
            "<figure><img alt=\"{}\" src=\"data:image/png;base64,{}\"><figcaption>{}</figcaption></figure>\n",
            html(alternative),
            html(base64),
            html(caption)
        ))
    }

    /// The HTML file.
    pub fn finish(&self) -> String {
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n\
             <title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n{}</main>\n</body>\n</html>\n",
            html(&self.title),
            include_str!("page.css"),
            self.body
        )
    }

    fn element(&mut self, tag: &str, text: &str) -> &mut Page {
        self.push(&format!("<{tag}>{}</{tag}>\n", html(text)))
    }

    fn push(&mut self, markup: &str) -> &mut Page {
        self.body.push_str(markup);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_escaped() {
        const EVIL: &str = "\"><script>alert('1')</script>\x1b[2J";
        let mut page = Page::new(EVIL);
        let bar = Bar {
            group: EVIL.to_owned(),
            label: EVIL.to_owned(),
            value: 2.0,
            colour: 0,
        };
        page.section(EVIL)
            .part(EVIL)
            .paragraph(EVIL)
            .remark(EVIL)
            .headline(EVIL, EVIL);
        page.verbatim(EVIL)
            .command(EVIL)
            .list([EVIL])
            .png(EVIL, EVIL, EVIL)
            .bars(&[bar], EVIL);
        let cells = [
            Cell::text(EVIL),
            Cell::number(EVIL),
            Cell::good(EVIL),
            Cell::bad(EVIL).with_link(EVIL),
        ];
        page.table(&cells, [cells[..1].to_vec(), cells.to_vec()]);
        let html = page.finish();
        assert!(
            !html.contains("<script") && !html.contains('\x1b'),
            "{html}"
        );
        assert!(html.matches("&lt;script&gt;").count() >= 28);
    }

    #[test]
    fn a_page_needs_nothing_else() {
        let html = Page::new("empty").finish();
        for outside in ["http:", "https:", "<script", "<link", "@import", "url("] {
            assert!(!html.contains(outside), "{outside}");
        }
        assert!(html.contains("prefers-color-scheme: dark"));
    }
}
