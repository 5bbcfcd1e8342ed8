//! `harness watch`: grades a submission's folder on every save, and says what to do next.
//!
//! | module       | what it holds                                                            |
//! |--------------|--------------------------------------------------------------------------|
//! | this one     | arguments, which folder, the loop                                        |
//! | `session`    | what each event leads to: saves, keys, verdicts; knows no clock, no file |
//! | `gradings`   | the threads that grade: a save drops the run under way                   |
//! | [`screen`]   | the state as lines of text                                               |
//! | `sheet`      | lines with ranks, as many as a window has room for                       |
//! | `failure`    | a failure: which cases, the event, its lines                             |
//! | `map`        | the map of a wrong field, in characters                                  |
//! | `compiler`   | a compiler's message, its code cropped around the caret                  |
//! | `change`     | a verdict beside the one before                                          |
//! | `counts`     | counts per update, beside the save before and the handout                |
//! | `next_step`  | what to do about a failure, or when all is right                         |
//! | `prints`     | the text that a submission printed                                       |
//! | `excerpt`    | the source lines that a message names                                    |
//! | `lines`      | text in lines of a width                                                 |
//! | `keyboard`   | single keys of the terminal, its state given back, its size              |

mod change;
mod compiler;
mod counts;
mod excerpt;
mod failure;
mod gradings;
mod keyboard;
mod lines;
mod map;
mod next_step;
mod prints;
pub mod screen;
mod session;
mod sheet;
mod subject;
#[cfg(test)]
mod tests;

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use device::Wish;
use exit::{CommandError, Ending, codes};
use forge::Forge;
use lab::CaseError;
use output_files::{OutputFile, OutputPath, interrupt};
use select::course_root;
use select::devices::{DeviceName, Wanted};
use terminal::stdout::Out;

use super::examiner::{Examiner, folder_within};
use super::grade::Bars;
use super::kept::{self, Kept};
use super::report;
use super::rules::{GradeSettings, Rules, UncheckedPoints};
use counts::Yardstick;
use grading::engine::{CaseRunner, Replays, Seeds, Show, Workers};
use grading::lab_spec;
use grading::pack::Authors;
use grading::report::GradeReport;
use gradings::{Event, Gradings};
use keyboard::{Keyboard, size};
pub(crate) use next_step::in_order;
use screen::Screen;
use session::{Action, Session};
use subject::{Files, Subject};

/// How often the two files are read.
const POLL: Duration = Duration::from_millis(200);

/// How often they are read while an editor may be writing them.
const POLL_WHILE_WRITTEN: Duration = Duration::from_millis(40);

/// Arguments of `harness watch`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Keys: h shows a hint, c counts what the kernels do, a shows everything, r writes a page on which one steps to the mistake, Enter grades again, q ends. Only cases that students know are \
                  graded. With NO_COLOR, or where standard output is no terminal, each verdict is printed below the last one."
)]
pub struct WatchArgs {
    /// A lab, whose starter is watched, or a folder with kernels.rs and launch.rs [default: the
    /// working folder]
    #[arg(value_name = "LAB|DIR")]
    submission: Option<PathBuf>,
    /// The lab [default: of a folder LAB/NAME the one of that name]
    #[arg(long)]
    lab: Option<String>,
    /// cuda, cuda:N or emulated, which answers fastest
    #[arg(long, default_value = "emulated")]
    device: Wanted,
    /// Grade once, and end as `grade` does
    #[arg(long)]
    once: bool,
    /// Grade even where nothing keeps a submission from reading files while it is compiled, as one
    /// does with one's own
    #[arg(long, alias = "without-landlock")]
    without_isolation: bool,
    /// The page that the key r writes, and --once: the first case that fails, step by step
    /// [default: LAB-replay.html in the system's folder for temporary files]
    #[arg(long, value_name = "FILE.html")]
    replay: Option<OutputPath>,
    /// Print each verdict below the last one, with the faults as annotations, between the lines
    /// `watch: grading` and `watch: graded`, for an editor's task
    #[arg(long, value_name = "READER")]
    annotate: Option<Forge>,
}

/// Watches a submission until the user ends it.
///
/// # Errors
///
/// Arguments that make no sense; what the machine lacks for grading, where that shows at the first
/// verdict.
pub fn run(args: &WatchArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    let folder = folder(args.submission.as_deref(), Path::new("."))?;
    let settings = GradeSettings {
        device: Some(args.device),
        ..settings(args.lab.as_deref(), args.without_isolation)?
    };
    // It can be written, before any work starts.
    if let Some(path) = &args.replay {
        OutputFile::create("--replay", path)?;
    }
    let rules = || Rules::new(&settings)?.of_visible_cases(&folder);
    let mut visible = rules()?;
    visible.options.replay = Replays::Wrong(Wish::default());
    let spec = visible.lab_spec(None)?.clone();
    let lab = &spec.name;
    let hints = lab_spec::embedded_hints(lab)?;
    let examiner = Examiner::new(visible, &settings, None, Authors::Own)?;
    let device = examiner.devices()[0];
    // Only the emulated device counts.
    let counted = hints.counted().filter(|_| device == DeviceName::Emulated);
    let counting = counted.map(|counted| {
        let alone = rules()?.counted_alone(counted)?;
        Examiner::new(alone, &settings, None, Authors::Own)
    });
    let counting = counting.transpose()?;
    let counted_spec = counting.as_ref().map(|it| it.rules().lab_spec(None));
    let counted_spec = counted_spec.transpose()?;
    let figures = counted.map_or(&[][..], |counted| &counted.figures);
    let subject = Subject {
        lab: lab.clone(),
        problem: spec.lab.name,
        folder: folder.display().to_string(),
        needs_lab_flag: args.lab.is_some(),
        device: device.to_string(),
        hints,
        yardstick: Yardstick::new(&[Some(&spec), counted_spec], figures),
        has_counted: counting.is_some(),
    };
    let temporary = || std::env::temp_dir().join(format!("{lab}-replay.html"));
    let replay = args
        .replay
        .as_deref()
        .map_or_else(temporary, Path::to_owned);
    let watched = Watched {
        replay: &replay,
        examiner: &examiner,
        counting: counting.as_ref(),
        device,
        folder: &folder,
        lab_file: &spec.text,
        annotate: args.annotate,
    };
    if args.once {
        once(watched, args.replay.is_some(), subject, out)
    } else {
        watch(watched, subject, out)
    }
}

/// The settings for one's own work on a lab, on the emulated device.
///
/// # Errors
///
/// The system has no random numbers.
pub(crate) fn settings(
    lab: Option<&str>,
    without_isolation: bool,
) -> Result<GradeSettings, CommandError> {
    Ok(GradeSettings {
        lab: lab.map(str::to_owned),
        lab_file: None,
        device: Some(DeviceName::Emulated.into()),
        // The same inputs each time: what changes from save to save is the submission's doing.
        seed: Some(Seeds::secret()?.0 % 1_000_000),
        draw: None,
        deadline: 60.0,
        total_deadline: None,
        unchecked: UncheckedPoints::default(),
        without_isolation,
    })
}

/// A submission's folder, who grades it, and who reads its faults as annotations, if anyone does.
#[derive(Clone, Copy)]
struct Watched<'w> {
    /// The page that replays a case.
    replay: &'w Path,
    examiner: &'w Examiner,
    /// Grades the case alone that the handout counts.
    counting: Option<&'w Examiner>,
    device: DeviceName,
    folder: &'w Path,
    /// The text of the lab file, without the case that the handout counts.
    lab_file: &'w str,
    annotate: Option<Forge>,
}

impl Watched<'_> {
    /// Writes the page that replays the case that failed. Its path, or why there is none.
    fn replay(self, report: Option<&GradeReport>) -> String {
        let Some(report) = report else {
            return "the last save could not be graded".to_owned();
        };
        let Some(replayed) = &report.replayed else {
            return if report.is_right() {
                "nothing is wrong; `harness test` with --replay steps through what is right"
            } else {
                "no case that failed has run"
            }
            .to_owned();
        };
        let written = OutputFile::create("--replay", self.replay)
            .and_then(|file| file.write_all(replayed.html.as_bytes()));
        match written {
            Ok(path) => format!("{}; open it in a browser", path.display()),
            Err(error) => error.to_string(),
        }
    }

    /// Grades; the case alone that the handout counts, if `is_counting`.
    fn grade(
        self,
        is_counting: bool,
        runner: &dyn CaseRunner,
        show: &mut dyn Show,
    ) -> Result<GradeReport, CommandError> {
        let counting = self.counting.filter(|_| is_counting);
        let examiner = counting.unwrap_or(self.examiner);
        examiner.grade(self.folder, self.device, runner, show)
    }

    /// The faults of a verdict as lines for the reader of annotations; none where there is no
    /// reader.
    fn annotations(self, report: &GradeReport) -> String {
        let reader = self.annotate;
        reader.map_or_else(String::new, |reader| {
            reader.annotations(&report::lines::report(self.folder, report))
        })
    }
}

/// The folder that is meant: a submission's, or a lab's starter.
///
/// # Errors
///
/// [`CommandError::Input`] for what is neither.
fn folder(named: Option<&Path>, working: &Path) -> Result<PathBuf, CommandError> {
    let named = named.unwrap_or(working);
    if named.is_dir() {
        if ["kernels.rs", "launch.rs"].map(|name| named.join(name).exists()) != [false, false] {
            return Ok(named.to_owned());
        }
        if let Some(starter) = folder_within(named) {
            return Ok(starter);
        }
    }
    let shown = named.display();
    if let Some(lab) = lab_spec::names().find(|lab| Path::new(lab) == named) {
        let root = course_root::find(None, working)?;
        let starter = Path::new("labs").join(lab).join("starter");
        // In the course's own folder, as the handout names it.
        let is_here = root.canonicalize().ok() == working.canonicalize().ok();
        return Ok(if is_here { starter } else { root.join(starter) });
    }
    Err(CommandError::Input(if named.is_dir() {
        format!("{shown}: has no kernels.rs; name a lab, or the folder of a submission")
    } else if named.exists() {
        format!("{shown}: is a file; watch takes the folder of a submission, whose files it reads")
    } else {
        CaseError::unknown("lab or folder", &shown.to_string(), lab_spec::names()).to_string()
    }))
}

/// The two files, as they are now. Reading what is not a plain file may take for ever.
pub(crate) fn read(folder: &Path) -> Files {
    ["kernels.rs", "launch.rs"].map(|name| {
        let path = folder.join(name);
        std::fs::read(path.is_file().then_some(path)?).ok()
    })
}

/// Grades once.
fn once(
    watched: Watched<'_>,
    replays: bool,
    subject: Subject,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    let files = read(watched.folder);
    let began = Instant::now();
    let report = watched.grade(false, &Workers, &mut Bars::default())?;
    let ending = report::ending(&report);
    let annotations = watched.annotations(&report);
    let mut screen = Screen::new(subject);
    screen.show(report, &files, began.elapsed());
    if replays {
        screen.replayed(watched.replay(screen.graded()));
    }
    let block = screen.block(out.look(), columns()).join("\n");
    out.line(format!("{block}\n{annotations}").trim_end())?;
    Ok(ending)
}

/// Grades on every save, until the user ends it.
fn watch(
    watched: Watched<'_>,
    subject: Subject,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    let (events, happened) = channel();
    let keyboard = listen(&events);
    let mut view = View::new(watched, out, keyboard.is_some());
    let mut session = Session::new(Screen::new(subject));
    thread::scope(|scope| {
        let mut control = Control {
            watched,
            folder: watched.folder,
            lab_file: watched.lab_file,
            gradings: Gradings::new(watched, scope, events),
            began: Instant::now(),
        };
        loop {
            let wait = if session.is_settling() {
                POLL_WHILE_WRITTEN
            } else {
                POLL
            };
            // Asked first: what a thread sent before it ended is then received below.
            let has_ended = control.gradings.has_ended();
            let event = happened.recv_timeout(wait).ok();
            // A panic of ours, which is told as such when the scope ends.
            let is_lost = has_ended && event.is_none() && session.is_grading();
            if is_lost || control.step(&mut session, event)?.is_break() {
                break;
            }
            if keyboard.as_ref().is_some_and(Keyboard::regain) {
                view.forget();
            }
            if !view.show(&mut session, control.began.elapsed())? {
                break;
            }
        }
        if control.gradings.are_under_way() {
            // A compiler may be at work, which nothing else ends so soon.
            drop((keyboard, view));
            interrupt::end_program(codes::OK.into());
        }
        Ok(Ending::Fine)
    })
}

/// Hands events to the session, and does what it says.
struct Control<'scope, 'env> {
    watched: Watched<'env>,
    folder: &'env Path,
    /// The text of the lab file, of the cases that count.
    lab_file: &'env str,
    gradings: Gradings<'scope, 'env>,
    began: Instant,
}

impl Control<'_, '_> {
    /// Tells the session of an event, or that time has passed, and does what it says; `Break` if
    /// the user ends it.
    ///
    /// # Errors
    ///
    /// Nothing can be graded here.
    fn step(
        &mut self,
        session: &mut Session,
        event: Option<Event>,
    ) -> Result<ControlFlow<()>, CommandError> {
        let now = self.began.elapsed();
        let action = match event {
            Some(Event::Key(key)) => session.key(key, now),
            Some(Event::Building(number, how_far)) => {
                session.builds(number, how_far);
                None
            }
            Some(Event::Panics(number, case, failure)) => {
                session.panics(number, &case, *failure);
                None
            }
            Some(Event::Graded(number, graded, took)) => match *graded {
                Err(error) if session.screen.is_empty() && session.is_at(number) => {
                    return Err(error);
                }
                given => {
                    session.graded(number, given, took);
                    self.keep(session);
                    session.counted_next(now)
                }
            },
            None => None,
        };
        match action.or_else(|| session.polled(read(self.folder), self.began.elapsed())) {
            Some(Action::Grade(number)) => self.gradings.begin(number, false),
            Some(Action::Count(number)) => self.gradings.begin(number, true),
            Some(Action::Replay) => {
                let words = self.watched.replay(session.screen.graded());
                session.screen.replayed(words);
            }
            Some(Action::Quit) => return Ok(ControlFlow::Break(())),
            None => {}
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl Control<'_, '_> {
    /// Keeps the verdict for `harness progress`, where the files are in the course's folder.
    fn keep(&self, session: &Session) {
        let Some((report, files)) = session.screen.graded().zip(session.graded_files()) else {
            return;
        };
        let Ok(root) = course_root::find(None, Path::new(".")) else {
            return;
        };
        if let Some(folder) = kept::within(&root, self.folder) {
            let key = kept::key(files, self.lab_file);
            // A verdict that cannot be kept is found again.
            let _ = Kept::of(report, &folder, key).write(&root);
        }
    }
}

fn listen(events: &Sender<Event>) -> Option<Keyboard> {
    let to = events.clone();
    Keyboard::listen(move |key| to.send(Event::Key(key)).is_ok())
}

/// Where the session is shown: on one screen that is drawn again, or as blocks one below the other.
struct View<'o, 'w> {
    watched: Watched<'o>,
    out: &'o mut Out<'w>,
    is_screen: bool,
    /// Whether the reader of annotations was told of the grading at hand.
    is_announced: bool,
    has_keys: bool,
    /// The lines on the screen, and its size.
    shown: (Vec<String>, Option<(usize, usize)>),
    /// The number of the block that was printed last.
    printed: Option<u64>,
}

impl<'o, 'w> View<'o, 'w> {
    fn new(watched: Watched<'o>, out: &'o mut Out<'w>, has_keys: bool) -> View<'o, 'w> {
        let is_terminal = out.look().colour && std::io::stdout().is_terminal();
        View {
            // An editor does not find lines on a screen that is drawn again.
            is_screen: is_terminal && watched.annotate.is_none(),
            watched,
            out,
            is_announced: false,
            has_keys,
            shown: (Vec::new(), None),
            printed: None,
        }
    }

    /// Something else may have written to the terminal: the next drawing is a whole one.
    fn forget(&mut self) {
        self.shown = (Vec::new(), None);
    }

    /// Shows the session, where that changes anything; `false` once the reader has
    /// closed it.
    fn show(&mut self, session: &mut Session, now: Duration) -> Result<bool, CommandError> {
        let look = self.out.look();
        if !self.is_screen {
            self.announce(session)?;
            let number = session.revision();
            if self.printed == Some(number) {
                return Ok(true);
            }
            let mut lines = match self.printed {
                None => session.screen.heading(look, columns()),
                Some(_) => session.screen.block(look, columns()),
            };
            if self.has_keys {
                lines.extend([String::new(), screen::keys(columns())]);
            }
            self.printed = Some(number);
            self.out.line(lines.join("\n") + "\n")?;
            self.annotate(session)?;
            return Ok(!self.out.is_closed());
        }
        let size = size();
        let (columns, rows) = size.unwrap_or((lines::WIDTH, 24));
        let grading_for = session.grading_for(now);
        let lines = session
            .screen
            .full(look, columns, rows, grading_for, self.has_keys);
        if self.shown == (lines.clone(), size) {
            return Ok(true);
        }
        let clear = if self.shown.0.is_empty() {
            "\x1b[2J"
        } else {
            ""
        };
        let text = format!("{clear}\x1b[H{}\x1b[K\x1b[J", lines.join("\x1b[K\n"));
        self.shown = (lines, size);
        let mut stdout = std::io::stdout().lock();
        let written = stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush());
        Ok(written.is_ok())
    }

    /// Tells the reader of annotations that a grading has begun, from which on old ones are void.
    fn announce(&mut self, session: &Session) -> Result<(), CommandError> {
        if self.watched.annotate.is_some() && session.is_grading() && !self.is_announced {
            self.is_announced = true;
            self.out.line("watch: grading")?;
        }
        Ok(())
    }

    /// Tells the reader of annotations of the faults, once the grading that was announced has
    /// ended.
    fn annotate(&mut self, session: &Session) -> Result<(), CommandError> {
        if !self.is_announced || session.is_grading() {
            return Ok(());
        }
        self.is_announced = false;
        let annotations = session
            .screen
            .graded()
            .map(|it| self.watched.annotations(it));
        let annotations = annotations.unwrap_or_default();
        self.out.line(annotations + "watch: graded\n")
    }
}

impl Drop for View<'_, '_> {
    /// The shell goes on below the last screen.
    fn drop(&mut self) {
        if self.is_screen {
            let mut stdout = std::io::stdout().lock();
            let _ = stdout.write_all(b"\n").and_then(|()| stdout.flush());
        }
    }
}

/// Columns that a block keeps to: the terminal's, or where there is none what reports have.
fn columns() -> usize {
    let columns = size().map_or(lines::WIDTH, |(columns, _)| columns);
    columns.clamp(lines::LEAST, lines::WIDTH)
}
