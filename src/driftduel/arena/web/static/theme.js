/* Before anything is painted: light or dark as the system prefers. layout.js listens to it later. */
document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
