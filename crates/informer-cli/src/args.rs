//! The command line: what can be asked, and the first checks of it.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use informer::ReflectorConfig;
use informer::http::WirePreference;

/// Follow Kubernetes objects as an informer does.
#[derive(Debug, Parser)]
#[command(
    name = "informer",
    version,
    about,
    max_term_width = 100,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Say more on stderr; twice: everything. The variable RUST_LOG sets single modules.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// See a shared informer at work, with nothing installed: an API server in memory, changing pods, two handlers.
    Demo(DemoArgs),
    /// Follow a kind of objects of a cluster.
    Watch(Box<WatchArgs>),
    /// Run the API server in memory, for tests and for trying things out.
    Serve(ServeArgs),
    /// Measure an informer: time, memory and bytes, as one line of JSON.
    #[command(subcommand)]
    Bench(BenchCommand),
}

/// How the output looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people: a live table on a terminal, plain lines elsewhere.
    Text,
    /// For programs: one JSON object a line.
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// End after this time, as 10s or 2m. Without it: at Ctrl-C.
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub(crate) run_for: Option<Duration>,
    /// How many pods the server starts with.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) pods: u32,
    /// How many changes the server makes each second.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) rate: u32,
    /// The seed of the random changes.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// How the output looks.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The port to listen on, on loopback; 0 takes a free one.
    #[arg(long, default_value_t = 8001)]
    pub(crate) port: u16,
    /// Fill the server with this many pods.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub(crate) pods: u32,
    /// Change pods this many times each second.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub(crate) rate: u32,
    /// The seed of the random pods and changes.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// End after this time, as 10s or 2m. Without it: at Ctrl-C.
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub(crate) run_for: Option<Duration>,
    /// Write a kubeconfig for this server to a file that does not exist, or that this command wrote.
    #[arg(long, value_name = "FILE")]
    pub(crate) write_kubeconfig: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// What to follow: pods, v1/pods, deployments, apps/v1/deployments, deployments.apps, group/version/plural.
    #[arg(value_name = "RESOURCE")]
    pub(crate) resource: String,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) fetch: FetchArgs,
    /// Resync period: print every object again, as 30s; at least 1s.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) resync: Option<Duration>,
    /// End after this time, as 10s or 2m. Without it: at Ctrl-C.
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub(crate) run_for: Option<Duration>,
    /// End once synced: exit 0, or 1 if not in time.
    #[arg(long)]
    pub(crate) once: bool,
    /// How long --once waits for the first state.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration)]
    pub(crate) sync_timeout: Duration,
    /// How the output looks.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// From nothing to a full cache.
    Sync(SyncArgs),
    /// The same, then updates as they come, to a handler.
    Events(EventsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SyncArgs {
    /// Then list this many times more, and print the peak of memory meanwhile.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) relists: u32,
    #[command(flatten)]
    pub(crate) bench: BenchArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// How many updates to wait for.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..))]
    pub(crate) events: u64,
    #[command(flatten)]
    pub(crate) bench: BenchArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// What to follow, named as for `informer watch`.
    #[arg(long, value_name = "RESOURCE", default_value = "pods")]
    pub(crate) resource: String,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    #[command(flatten)]
    pub(crate) fetch: FetchArgs,
    /// Give up after this time: exit 1.
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    pub(crate) timeout: Duration,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ConnectionArgs {
    /// The API server's URL; asked without credentials. Instead of a kubeconfig.
    #[arg(long, value_name = "URL", conflicts_with_all = ["kubeconfig", "context"])]
    pub(crate) server: Option<String>,
    /// The kubeconfig file. Without it: $KUBECONFIG, ~/.kube/config, then the pod's own account.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig. Without it: its current context.
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Run the programs that the kubeconfig names for credentials: any, or only those of a list, as
    /// --allow-exec=aws,/opt/bin/get-token. Without it none is run.
    #[arg(
        long,
        value_name = "PROGRAMS",
        num_args = 0..=1,
        require_equals = true,
        value_delimiter = ',',
        default_missing_value = "all",
        conflicts_with = "server"
    )]
    pub(crate) allow_exec: Option<Vec<PathBuf>>,
    /// Send the kubeconfig's credentials over plain http too, if the server is on this machine.
    #[arg(long, conflicts_with = "server")]
    pub(crate) credentials_on_loopback: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SelectionArgs {
    /// Only this namespace. Without it: all namespaces. Kinds outside namespaces are followed whatever it says.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Only objects with these labels, as app=shop,tier!=test.
    #[arg(short = 'l', long = "selector", value_name = "SELECTOR")]
    pub(crate) label_selector: Option<String>,
    /// Only objects with these fields, as status.phase=Running.
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) field_selector: Option<String>,
}

/// How objects come here, and what is kept of them.
#[derive(Debug, Args)]
pub(crate) struct FetchArgs {
    /// How objects are held in memory.
    #[arg(long = "as", value_enum, value_name = "FORM", default_value_t = Form::Compact)]
    pub(crate) form: Form,
    /// The wire format to ask for.
    #[arg(long, value_enum, default_value_t = Wire::Auto)]
    pub(crate) wire: Wire,
    /// How the first state is fetched.
    #[arg(long, value_enum, default_value_t = ListMode::Auto)]
    pub(crate) list: ListMode,
    /// The most objects in a page of a list.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) page_size: Option<u32>,
}

impl FetchArgs {
    /// A reflector that fetches like this.
    pub(crate) fn reflector(&self) -> ReflectorConfig {
        let config = ReflectorConfig::default().list_mode(self.list.mode());
        match self.page_size {
            Some(size) => config.page_size(size),
            None => config,
        }
    }
}

/// How objects are held in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Metadata decoded, the rest as bytes: any kind, about the size of the wire.
    Compact,
    /// Whole objects: kinds of the core, apps and batch groups.
    Typed,
    /// Metadata alone, asked from the server as such: any kind.
    Metadata,
    /// Metadata and five fields of pods: phase, IP, node, service account, quality of service.
    View,
}

/// The wire format to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Wire {
    /// The best one that the server and this program have.
    Auto,
    /// JSON.
    Json,
    /// Protobuf alone: kinds of Kubernetes itself, and metadata.
    Protobuf,
}

impl Wire {
    /// The lister's name for it.
    pub(crate) const fn preference(self) -> WirePreference {
        match self {
            Self::Auto => WirePreference::Auto,
            Self::Json => WirePreference::Json,
            Self::Protobuf => WirePreference::Protobuf,
        }
    }
}

impl ListMode {
    /// The reflector's name for it.
    pub(crate) const fn mode(self) -> informer::ListMode {
        match self {
            Self::Auto => informer::ListMode::Auto,
            Self::List => informer::ListMode::List,
            Self::Stream => informer::ListMode::Stream,
        }
    }
}

/// How the first state is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListMode {
    /// As a streaming list, or as a list where the server has none.
    Auto,
    /// As a list, page by page.
    List,
    /// As a streaming list only.
    Stream,
}

/// Reads a time span as people write it: `500ms`, `10s`, `2m`, `1h30m`.
fn duration(text: &str) -> Result<Duration, String> {
    let hint = "write a time span as 500ms, 10s or 2m";
    let span: jiff::SignedDuration = text.parse().map_err(|_| hint.to_owned())?;
    Duration::try_from(span).map_err(|_| format!("it is negative; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn command_line_definition_is_valid() {
        Cli::command().debug_assert();
    }

    #[test]
    fn time_spans_are_parsed_with_units() {
        assert_eq!(duration("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert!(duration("ten").is_err());
        assert!(duration("-1s").is_err());
    }

    #[test]
    fn allow_exec_is_parsed_with_and_without_names() {
        let allowed = |flag: &str| {
            let cli = Cli::try_parse_from(["informer", "watch", flag, "pods"]).expect("valid");
            let Command::Watch(args) = cli.command else {
                panic!("not watch")
            };
            args.connection.allow_exec
        };
        assert_eq!(allowed("--once"), None);
        assert_eq!(allowed("--allow-exec"), Some(vec!["all".into()]));
        let two = vec!["aws".into(), "/opt/bin/get-token".into()];
        assert_eq!(allowed("--allow-exec=aws,/opt/bin/get-token"), Some(two));
    }

    #[test]
    fn watch_and_bench_accept_same_fetch_options() {
        let how = [
            "--as=metadata",
            "--wire=json",
            "--list=stream",
            "--page-size=7",
        ];
        for command in [&["watch", "pods"][..], &["bench", "sync"]] {
            let words = [&["informer"], command, &how].concat();
            let fetch = match Cli::try_parse_from(words).expect("valid").command {
                Command::Watch(args) => args.fetch,
                Command::Bench(BenchCommand::Sync(args)) => args.bench.fetch,
                other => panic!("{other:?}"),
            };
            assert_eq!((fetch.form, fetch.wire), (Form::Metadata, Wire::Json));
            let config = format!("{:?}", fetch.reflector());
            assert!(config.contains("list_mode: Stream"), "{config}");
            assert!(config.contains("page_size: 7"), "{config}");
        }
    }

    #[test]
    fn server_and_kubeconfig_exclude_each_other() {
        let both = [
            "informer",
            "watch",
            "pods",
            "--server",
            "http://x",
            "--kubeconfig",
            "f",
        ];
        assert!(Cli::try_parse_from(both).is_err());
    }
}
