//! Pages under construction.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::bars::{Bar, bars};
use super::escape::{self, Text};
use super::ladder::{Rung, ladder};
use super::plot::{BROAD, NARROW, Plot};

/// Texts that are longer may break into lines.
const LONG: usize = 48;

/// Sorts and filters tables.
const SCRIPT: &str = include_str!("page.js");

/// The page loads nothing; it contains its style sheet and pictures. It runs nothing but
/// [`SCRIPT`], if it has that.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

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

    /// Links to a file beside the page, whose name is one that [`escape::file_name`] makes.
    pub fn with_link(mut self, file: impl Into<String>) -> Cell {
        self.link = Some(file.into());
        self
    }

    /// Whether it is empty, or a dash instead of a figure.
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

    /// With a name before its text, as in a strip.
    pub fn named(mut self, name: &str) -> Cell {
        self.text = format!("{name}: {}", self.text);
        self
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

    /// Its classes in the style sheet. Short texts stay in one line; the table scrolls where it is
    /// too wide.
    fn classes(&self) -> Option<String> {
        let long = if self.text.len() > LONG { " long" } else { "" };
        let classes = format!("{}{long}", self.class);
        (!classes.is_empty()).then(|| classes.trim_start().to_owned())
    }

    fn content(&self) -> Markup {
        html! {
            @match &self.link {
                // The folder `./` keeps a browser from reading a file name as a URL scheme.
                Some(file) => a href={ "./" (Text(file)) } { (Text(&self.text)) },
                None => (Text(&self.text)),
            }
        }
    }
}

/// A page under construction. Every text that is handed in is escaped.
#[derive(Debug)]
pub struct Page {
    title: String,
    body: String,
    is_sortable: bool,
}

impl Page {
    /// An empty page with this title and heading.
    pub fn new(title: &str) -> Page {
        let mut page = Page {
            title: title.to_owned(),
            body: String::new(),
            is_sortable: false,
        };
        page.push(html! { h1 { (Text(title)) } });
        page
    }

    /// Lets readers sort and filter the tables, by a script that the page contains.
    pub fn sortable(mut self) -> Page {
        self.is_sortable = true;
        self
    }

    /// A heading of a section.
    pub fn section(&mut self, heading: &str) -> &mut Page {
        self.push(html! { h2 { (Text(heading)) } })
    }

    /// A heading of a part of a section.
    pub fn part(&mut self, heading: &str) -> &mut Page {
        self.push(html! { h3 { (Text(heading)) } })
    }

    /// A paragraph.
    pub fn paragraph(&mut self, text: &str) -> &mut Page {
        self.push(html! { p { (Text(text)) } })
    }

    /// A paragraph of less weight.
    pub fn remark(&mut self, text: &str) -> &mut Page {
        self.push(html! { p.remark { (Text(text)) } })
    }

    /// A figure that stands out: a score.
    pub fn headline(&mut self, figure: &str, caption: &str) -> &mut Page {
        self.push(html! { p.headline { strong { (Text(figure)) } " " (Text(caption)) } })
    }

    /// Lines as they are, in a font of fixed width.
    pub fn verbatim(&mut self, text: &str) -> &mut Page {
        self.push(html! { pre { (Text(text.trim_end())) } })
    }

    /// A command that can be typed.
    pub fn command(&mut self, text: &str) -> &mut Page {
        self.push(html! { p.command { code { (Text(text)) } } })
    }

    /// A list.
    pub fn list<T: AsRef<str>>(&mut self, items: impl IntoIterator<Item = T>) -> &mut Page {
        self.push(html! {
            ul { @for item in items { li { (Text(item.as_ref())) } } }
        })
    }

    /// A table. A row of a single cell is a heading of the rows under it.
    pub fn table(
        &mut self,
        headers: &[Cell],
        rows: impl IntoIterator<Item = Vec<Cell>>,
    ) -> &mut Page {
        self.push(html! {
            div.wide {
                table {
                    thead {
                        tr { @for cell in headers { th class=[cell.classes()] { (cell.content()) } } }
                    }
                    tbody {
                        @for row in rows {
                            @match &row[..] {
                                [heading] if headers.len() > 1 => tr {
                                    th.group colspan=(headers.len()) scope="rowgroup" {
                                        span { (Text(&heading.text)) }
                                    }
                                },
                                row => tr {
                                    @for cell in row { td class=[cell.classes()] { (cell.content()) } }
                                },
                            }
                        }
                    }
                }
            }
        })
    }

    /// A link to a file beside the page, whose name is one that [`escape::file_name`] makes.
    pub fn link(&mut self, words: &str, file: &str) -> &mut Page {
        self.push(html! { p.link { a href={ "./" (Text(file)) } { (Text(words)) } } })
    }

    /// A mark for each of many things, in one strip: its colour is the cell's, and its text is read
    /// aloud, or shown where a pointer rests.
    pub fn strip(&mut self, cells: impl IntoIterator<Item = Cell>) -> &mut Page {
        self.push(html! {
            ul.strip {
                @for cell in cells {
                    li class=[cell.classes()] title=(Text(&cell.text)) {
                        span { (Text(&cell.text)) }
                    }
                }
            }
        })
    }

    /// A part that is folded until its reader opens it.
    pub fn fold(&mut self, summary: &str, fill: impl FnOnce(&mut Page)) -> &mut Page {
        self.push(html! { (PreEscaped("<details>")) summary { (Text(summary)) } });
        fill(self);
        self.push(PreEscaped("</details>".to_owned()))
    }

    /// A plot and its caption; nothing, if there is nothing to plot.
    pub fn plot(&mut self, plot: &Plot, caption: &str) -> &mut Page {
        match (plot.svg(BROAD), plot.svg(NARROW)) {
            (Ok(broad), Ok(narrow)) => self.figure(&broad, &narrow, caption),
            _ => self,
        }
    }

    /// Bars and their caption; nothing, if there are none.
    pub fn bars(&mut self, of: &[Bar], caption: &str) -> &mut Page {
        if of.is_empty() {
            return self;
        }
        self.figure(&bars(of, BROAD), &bars(of, NARROW), caption)
    }

    /// A ladder and its caption; nothing, if it has no rungs.
    pub fn ladder(&mut self, of: &[Rung], caption: &str) -> &mut Page {
        if of.is_empty() {
            return self;
        }
        self.figure(&ladder(of, BROAD), &ladder(of, NARROW), caption)
    }

    /// Two drawings, one for a wide screen and one for a phone. The style sheet shows one of them.
    fn figure(&mut self, broad: &str, narrow: &str, caption: &str) -> &mut Page {
        let label = format!(
            "<svg role=\"img\" aria-label=\"{}\" ",
            escape::html(caption)
        );
        let named = |svg: &str| PreEscaped(svg.replacen("<svg role=\"img\" ", &label, 1));
        self.push(html! {
            figure {
                div.broad { (named(broad)) }
                div.narrow { (named(narrow)) }
                figcaption { (Text(caption)) }
            }
        })
    }

    /// A PNG picture in Base64, with its caption.
    pub fn png(&mut self, base64: &str, alternative: &str, caption: &str) -> &mut Page {
        self.push(html! {
            figure {
                img alt=(Text(alternative)) src={ "data:image/png;base64," (Text(base64)) };
                figcaption { (Text(caption)) }
            }
        })
    }

    /// The HTML file.
    pub fn finish(&self) -> String {
        let hash = || STANDARD.encode(Sha256::digest(SCRIPT));
        let policy = if self.is_sortable {
            format!("{POLICY}; script-src 'sha256-{}'", hash())
        } else {
            POLICY.to_owned()
        };
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    title { (Text(&self.title)) }
                    style { (PreEscaped(include_str!("page.css"))) }
                }
                body {
                    main { (PreEscaped(&self.body)) }
                    @if self.is_sortable { script { (PreEscaped(SCRIPT)) } }
                }
            }
        };
        page.into_string() + "\n"
    }

    fn push(&mut self, markup: Markup) -> &mut Page {
        self.body.push_str(&markup.into_string());
        // Browsers do not need it; people who read or compare the file do.
        self.body.push('\n');
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
            .fold(EVIL, |_| ())
            .part(EVIL)
            .paragraph(EVIL)
            .remark(EVIL)
            .headline(EVIL, EVIL)
            .strip([Cell::bad(EVIL).named(EVIL)])
            .link(EVIL, EVIL);
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
        assert!(html.matches("&lt;script&gt;").count() >= 29);
    }

    #[test]
    fn a_page_needs_nothing_else() {
        let html = Page::new("empty").finish();
        for outside in ["http:", "https:", "<script", "<link", "@import", "url("] {
            assert!(!html.contains(outside), "{outside}");
        }
        assert!(html.contains("prefers-color-scheme: dark"));
    }

    #[test]
    fn a_sortable_page_runs_its_own_script_alone() {
        let html = Page::new("tables").sortable().finish();
        assert_eq!(html.matches("<script>").count(), 1);
        let (_, script) = html.split_once("<script>").unwrap();
        let (script, _) = script.split_once("</script>").unwrap();
        let hash = STANDARD.encode(Sha256::digest(script));
        assert!(html.contains(&format!("script-src 'sha256-{hash}'")));
        for outside in ["http:", "https:", "fetch", "innerHTML"] {
            assert!(!html.contains(outside), "{outside}");
        }
    }

    #[test]
    fn a_fold_holds_what_it_is_filled_with() {
        let mut page = Page::new("fold");
        page.fold("a table", |page| {
            page.remark("inside");
        });
        page.remark("outside");
        let html = page.finish();
        let (before, after) = html.split_once("</details>").unwrap();
        assert!(before.contains("<details><summary>a table</summary>"));
        assert!(before.contains("inside") && after.contains("outside"));
    }
}
