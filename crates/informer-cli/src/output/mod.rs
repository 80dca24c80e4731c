//! What the commands print: JSON lines, plain lines, or a live table on a terminal.

mod board;
pub(crate) mod json;
mod live;

use std::io::{self, IsTerminal, Write};

use board::Board;
pub(crate) use json::Line;
use live::Screen;

use crate::args::Output;
use crate::failure::printable;

/// Where a command's lines go, in the form that was asked for.
#[derive(Debug)]
pub(crate) enum Printer {
    /// One JSON object a line.
    Json,
    /// One line of text for each event.
    Plain,
    /// A table that is drawn again and again.
    Live(Box<Live>),
}

/// What the live table shows, and the screen it is drawn on.
#[derive(Debug)]
pub(crate) struct Live {
    board: Board,
    screen: Screen,
}

impl Printer {
    /// A printer for standard output. Text is drawn live only on a terminal.
    pub(crate) fn new(output: Output, title: &str) -> Self {
        match output {
            Output::Json => Self::Json,
            Output::Text if io::stdout().is_terminal() && io::stderr().is_terminal() => {
                let live = Live {
                    board: Board::new(title),
                    screen: Screen::new(),
                };
                Self::Live(Box::new(live))
            }
            Output::Text => Self::Plain,
        }
    }

    /// Prints one line, or takes it into the table.
    ///
    /// # Errors
    /// If standard output is closed.
    pub(crate) fn print(&mut self, line: &Line<'_>) -> io::Result<()> {
        match self {
            Self::Json => json::write(line),
            Self::Plain => say(&printable(&plain(line))),
            Self::Live(live) => {
                live.board.take(line);
                if let Line::Error { message } = line {
                    live.screen.note(&printable(&format!("error: {message}")));
                }
                Ok(())
            }
        }
    }

    /// Draws the table again, if there is one. `received` is the number of objects received so far.
    pub(crate) fn draw(&mut self, received: usize, total: Option<usize>, extra: &[String]) {
        if let Self::Live(live) = self {
            if live.board.is_synced() {
                live.screen.table(&live.board.render(extra));
            } else {
                live.screen.progress(live.board.title(), received, total);
            }
        }
    }

    /// Leaves the last state on the screen.
    ///
    /// # Errors
    /// If standard output is closed.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Live(live) => {
                live.screen.leave();
                say(&live.board.render(&[]))
            }
            Self::Json | Self::Plain => Ok(()),
        }
    }
}

/// Prints a text that is no event. Unlike `println!` it does not panic if standard output is closed.
///
/// # Errors
/// If standard output is closed.
pub(crate) fn say(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}")?;
    stdout.flush()
}

/// A line as people read it.
fn plain(line: &Line<'_>) -> String {
    match line {
        Line::Added {
            key,
            resource_version,
            initial,
            ..
        } => {
            let initial = if *initial { " (initial)" } else { "" };
            format!("added    {key} at {resource_version}{initial}")
        }
        Line::Updated {
            key,
            resource_version,
            cause,
            ..
        } => {
            format!("updated  {key} at {resource_version} ({cause})")
        }
        Line::Deleted {
            key,
            resource_version,
            final_state_unknown,
            ..
        } => {
            let unknown = if *final_state_unknown {
                " (final state unknown)"
            } else {
                ""
            };
            format!("deleted  {key} at {resource_version}{unknown}")
        }
        Line::Synced {
            count,
            resource_version,
            seconds,
        } => {
            format!("synced   {count} objects at {resource_version} in {seconds:.3} s")
        }
        Line::Error { message } => format!("error    {message}"),
        Line::Final {
            count,
            resource_version,
            ..
        } if resource_version.is_empty() => {
            format!("final    {count} objects, never synced")
        }
        Line::Final {
            count,
            resource_version,
            ..
        } => {
            format!("final    {count} objects at {resource_version}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_lines_name_event_and_object() {
        let line = Line::Updated {
            key: "ns/a",
            resource_version: "7".into(),
            uid: String::new(),
            cause: "watch",
        };
        assert_eq!(plain(&line), "updated  ns/a at 7 (watch)");
    }
}
