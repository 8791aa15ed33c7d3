//! The page and its files, embedded in the program.

/// A file of the page: where it is asked for, its media type, and what it is.
pub(crate) struct Asset {
    pub(crate) path: &'static str,
    pub(crate) media_type: &'static str,
    pub(crate) text: &'static str,
}

/// All files of the page.
pub(crate) const ASSETS: [Asset; 5] = [
    Asset {
        path: "/",
        media_type: "text/html; charset=utf-8",
        text: include_str!("page/console.html"),
    },
    Asset {
        path: "/console.css",
        media_type: "text/css; charset=utf-8",
        text: include_str!("page/console.css"),
    },
    Asset {
        path: "/console.js",
        media_type: "text/javascript; charset=utf-8",
        text: include_str!("page/console.js"),
    },
    Asset {
        path: "/chart.js",
        media_type: "text/javascript; charset=utf-8",
        text: include_str!("page/chart.js"),
    },
    Asset { path: "/icon.svg", media_type: "image/svg+xml", text: include_str!("page/icon.svg") },
];
