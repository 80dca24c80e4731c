//! A running program, and all that it has started.

use std::io;
use std::process::ExitStatus;

use process_wrap::tokio::{ChildWrapper, CommandWrap};
use tokio::process::{ChildStdout, Command};

/// A running program. Dropped before it has ended, it is killed with all that it has started.
pub(super) struct Running {
    child: Box<dyn ChildWrapper>,
    ended: bool,
}

impl Running {
    /// Starts a program, in a group of its own: a process group, on Windows a job.
    ///
    /// One that talks with a person stays in ours, since only the group in the foreground may read from the terminal;
    /// what it has started is then not killed with it, but Ctrl-C reaches all of it.
    pub(super) fn start(mut command: Command, interactive: bool) -> io::Result<Self> {
        command.kill_on_drop(true);
        let mut command = CommandWrap::from(command);
        if !interactive {
            #[cfg(unix)]
            command.wrap(process_wrap::tokio::ProcessGroup::leader());
            #[cfg(windows)]
            command.wrap(process_wrap::tokio::JobObject);
        }
        Ok(Self {
            child: command.spawn()?,
            ended: false,
        })
    }

    /// Returns the program's output.
    pub(super) fn stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout().take()
    }

    /// Waits until the program itself has ended. What it leaves behind on purpose, such as an agent that keeps
    /// passwords, goes on.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        // The group's own `wait` would wait for all of it.
        let status = self.child.inner_mut().wait().await?;
        self.ended = true;
        Ok(status)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            // It may have ended just now.
            let _ = self.child.start_kill();
        }
    }
}
