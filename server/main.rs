//! Arguments to mode; nothing else.

fn main() -> std::process::ExitCode {
    postil::cli::run()
}
