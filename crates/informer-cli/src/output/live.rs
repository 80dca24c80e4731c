//! The screen of a terminal: a progress bar first, then a table drawn in place.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A part of the terminal that is drawn again and again, without colours.
#[derive(Debug)]
pub(crate) struct Screen {
    bar: ProgressBar,
    shape: Shape,
}

#[derive(Debug, PartialEq, Eq)]
enum Shape {
    Waiting,
    Counting,
    Table,
}

impl Screen {
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        bar.enable_steady_tick(Duration::from_millis(120));
        Self {
            bar,
            shape: Shape::Waiting,
        }
    }

    /// Shows how many objects were received, of how many if that is known.
    pub(crate) fn progress(&mut self, title: &str, received: usize, total: Option<usize>) {
        if let Some(total) = total {
            self.take_shape(Shape::Counting, "{msg} [{bar:40}] {pos}/{len} {per_sec}");
            self.bar.set_length(total.max(received) as u64);
        } else {
            self.take_shape(Shape::Waiting, "{spinner} {msg} {pos} objects, {per_sec}");
        }
        self.bar.set_message(format!("syncing {title}"));
        self.bar.set_position(received as u64);
    }

    /// Shows a text of several lines in place of what was there.
    pub(crate) fn table(&mut self, text: &str) {
        self.take_shape(Shape::Table, "{msg}");
        self.bar.set_message(text.to_owned());
    }

    /// Prints a line above, which stays.
    pub(crate) fn note(&self, text: &str) {
        self.bar.println(text);
    }

    /// Takes away what was drawn.
    pub(crate) fn leave(&self) {
        self.bar.finish_and_clear();
    }

    fn take_shape(&mut self, shape: Shape, template: &str) {
        if self.shape == shape && self.shape != Shape::Waiting {
            return;
        }
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style.progress_chars("=> "));
        }
        self.shape = shape;
    }
}
