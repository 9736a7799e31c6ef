"""Options of other languages that are parsed and never used: by text, marked as such, silent where text cannot tell."""

from __future__ import annotations

import pytest

GFLAGS = """
    DEFINE_int32(max_batch, 4, "how many at once");
    ABSL_FLAG(bool, never_read, false, "nobody asks for it");
    DEFINE_bool(old_flag, false, "");
    DECLARE_int32(max_batch);
    int slots() { return FLAGS_max_batch; }
    void init() { FLAGS_old_flag = true; }
    """
COMPARED = """
    struct params { int slots = 1; int unused_slots = 1; bool verbose; };
    void parse(int argc, char ** argv, params & p) {
        for (int i = 1; i < argc; i++) {
            std::string arg = argv[i];
            if (arg == "--slots") { p.slots = atoi(argv[++i]); }
            else if (arg == "--unused-slots") {
                p.unused_slots = atoi(argv[++i]);
            } else if (strcmp(argv[i], "-v") == 0) { p.verbose = true; }
            else if (arg == "--help") { usage(); }
        }
    }
    void run(params & p) { serve(p.slots); if (p.verbose) log(); }
    """
LISTED = """
    add_opt(common_arg(
        {"-np", "--parallel"}, "N",
        "number of parallel sequences",
        [](common_params & params, int value) {
            params.n_parallel = value;
        }
    ));
    add_opt(common_arg(
        {"--legacy"}, "N",
        [](common_params & params, int value) {
            params.n_legacy = value;
        }
    ));
    """
CLI11 = """
    app.add_option("-s,--slots", cfg.slots, "how many");
    app.add_flag("--never", cfg.never_asked, "nobody asks");
    engine.start(cfg.slots);
    """
CLAP = """
    #[derive(Parser, Debug)]
    struct Args {
        /// How many at once.
        #[arg(long, env, default_value_t = 4)]
        max_batch: usize,
        #[clap(short = 'x', long = "never-read")]
        pub never_read: Option<usize>,
    }
    fn main() { let args = Args::parse(); serve(args.max_batch); }
    """
BUILDER = """
    let matches = Command::new("engine")
        .arg(Arg::new("slots").long("slots"))
        .arg(
            Arg::new("never")
                .long("never")
                .help("nobody asks"),
        )
        .get_matches();
    serve(matches.get_one::<usize>("slots"));
    """
GO = """
    var neverRead = flag.Int("never-read", 4, "nobody asks")
    func main() {
        slots := flag.Int("slots", 4, "how many")
        flag.StringVar(&cfg.Model, "model", "", "which")
        flag.BoolVar(&cfg.Legacy, "legacy", false, "nobody asks")
        cmd.Flags().Int("asked", 1, "")
        cmd.PersistentFlags().Int("not-asked", 1, "")
        serve(*slots, cfg.Model)
        asked, _ := cmd.Flags().GetInt("asked")
    }
    """
COMMANDER = """
    program
      .option('-s, --max-slots <n>', 'how many at once')
      .option("--never-read <n>", "nobody asks")
      .option('--no-cache', 'off')
      .parse();
    const opts = program.opts();
    serve(opts.maxSlots, opts.cache);
    """
SHELL = """
    while [ $# -gt 0 ]; do
        case "$1" in
            -s|--slots) SLOTS="$2"; shift 2 ;;
            --never-read)
                NEVER_READ="$2"
                shift 2
                ;;
            --model=*) MODEL="${1#*=}"; shift ;;
            --exported) export LLAMA_ARG="$2"; shift 2 ;;
            -h|--help) usage; exit 0 ;;
        esac
    done
    exec ./server --slots "$SLOTS" --model "${MODEL}"
    env | grep LLAMA_ARG
    """


@pytest.mark.parametrize(
    ("name", "text", "unused"),
    [
        ("gflags.cc", GFLAGS, {"--never_read", "--old_flag"}),
        ("args.cpp", COMPARED, {"--unused-slots"}),
        ("arg.cpp", LISTED + "    int n = params.n_parallel;\n", {"--legacy"}),
        ("cli.cpp", CLI11, {"--never"}),
        ("main.rs", CLAP, {"--never-read"}),
        ("cli.rs", BUILDER, {"--never"}),
        ("main.go", GO, {"--never-read", "--legacy", "--not-asked"}),
        ("cli.ts", COMMANDER, {"--never-read"}),
        ("run.sh", SHELL, {"--never-read"}),
    ],
)
def test_an_option_whose_place_nothing_names(audited, name, text, unused):
    """Of each way to declare options those are found whose variable, field or name no other line uses."""
    found = audited({name: text}).unused_flags
    assert {item.name for item in found} == unused
    assert {item.by for item in found} == {"text"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gflags.cc", GFLAGS + "    bool a = absl::GetFlag(FLAGS_never_read), b = FLAGS_old_flag;\n"),
        ("args.cpp", COMPARED + "    int left(params p) { return p.unused_slots; }\n"),
        ("cli.cpp", CLI11 + "    if (cfg.never_asked) stop();\n"),
        ("main.rs", CLAP + "    fn old(a: &Args) -> bool { a.never_read.is_some() }\n"),
        ("serde.rs", CLAP.replace("Parser, Debug", "Parser, Serialize")),
        ("cli.rs", BUILDER + '    let gone = matches.contains_id("never");\n'),
        ("main.go", GO + '    use(*neverRead, cfg.Legacy, viper.GetInt("not-asked"))\n'),
        ("cli.ts", COMMANDER + "    const { neverRead } = opts;\n"),
        ("spread.ts", COMMANDER + "    const settings = {...opts};\n"),
        ("run.sh", SHELL + '    echo "${NEVER_READ:-}"\n'),
        ("all.sh", "    set -a\n" + SHELL),
    ],
)
def test_a_value_that_some_line_uses(audited, name, text):
    """One more line that uses it, or that hands all of them on, and nothing is said."""
    assert audited({name: text}).unused_flags == ()


def test_a_value_used_in_another_file(audited):
    """The use may stand in another file, in a language of its own; a comment is none."""
    files = {"arg.cpp": LISTED, "slots.h": "// params.n_legacy\nint n = p.n_parallel;\n"}
    assert [item.name for item in audited(files).unused_flags] == ["--legacy"]
    files["bind.rs"] = "let legacy = unsafe { p.n_legacy };\n"
    assert audited(files).unused_flags == ()


def test_a_finding_by_text_can_be_accepted(audited):
    """The comment on its line works as in Python, and the words say what was not seen."""
    accepted = GFLAGS.replace("asks for it", "asks for it").replace(
        '"nobody asks for it");', '"");  // stager: accept unused-flag - kept for old scripts'
    )
    found = {item.name: item for item in audited({"gflags.cc": accepted}).unused_flags}
    assert found["--never_read"].accepted == "kept for old scripts"
    assert "not seen" in found["--old_flag"].why


def test_it_takes_linear_time(audited):
    """Minified and endless lines take no more than linear time."""
    files = {
        "a.js": ".option('--never-read <n>')" + "x=a.b;" * 200_000,
        "b.cc": "DEFINE_int32(a, 1, x);\n" + "a" * 300_000 + "\n" + "a.b->" * 60_000 + "FLAGS_a",
        "c.rs": "#[arg(long " * 30_000,
        "d.sh": "-a|" * 60_000 + "--b) X=1 ;;\n",
        "e.cpp": '{"' * 100_000,
    }
    assert {item.name for item in audited(files).unused_flags} <= {"--never-read"}
