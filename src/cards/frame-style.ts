/**
 * The one style sheet of a card's frame. It never changes with the card, so that policies can name it by its hash and
 * let in no other. `contain` keeps what a card positions within the part that is the card's.
 */
export const frameStyle = `
:root { color-scheme: light dark; --text: #1f2328; --muted: #656d76; --line: #d8dee4; --paper: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e8eb; --muted: #9aa2ab; --line: #3a4048; --paper: #1c1f24; }
}
* { box-sizing: border-box; }
body {
  margin: 0; min-height: 100vh; overflow-wrap: break-word; color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif;
  background: linear-gradient(var(--tint, transparent), var(--tint, transparent)) var(--paper);
  border-left: 4px solid var(--accent, var(--line));
}
body > header { display: flex; align-items: center; gap: 8px; padding: 12px 16px 0; font-weight: 600; }
body > main { position: relative; contain: content; overflow: auto; padding: 8px 16px 14px; }
body > main:has(> [style*='padding']:only-child) { padding: 0; }
main > :first-child { margin-top: 0; }
main > :last-child { margin-bottom: 0; }
h1 { font-size: 1.5em; } h2 { font-size: 1.25em; } h3 { font-size: 1.1em; } h4, h5, h6 { font-size: 1em; }
h1, h2, h3, h4, h5, h6 { margin: 0.8em 0 0.3em; line-height: 1.25; }
p, ul, ol, dl, pre, table, blockquote, details, figure { margin: 0.5em 0; }
ul, ol { padding-left: 1.5em; }
dt { font-weight: 600; } dd { margin: 0 0 0.3em 1em; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 14px 4px 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th:last-child, td:last-child { padding-right: 0; }
th { color: var(--muted); font-weight: 600; font-size: 0.9em; }
tbody tr:last-child > * { border-bottom: 0; }
caption { text-align: left; color: var(--muted); font-size: 0.9em; }
summary { cursor: pointer; font-weight: 600; }
summary::marker { color: var(--accent, var(--muted)); }
blockquote { padding-left: 12px; border-left: 3px solid var(--line); color: var(--muted); }
code, kbd, samp, pre { font: 0.9em/1.5 ui-monospace, 'SF Mono', Menlo, Consolas, monospace; }
pre { overflow: auto; padding: 8px 10px; border: 1px solid var(--line); border-radius: 6px; }
hr { border: 0; border-top: 1px solid var(--line); }
img, svg { max-width: 100%; vertical-align: middle; }
meter, progress { accent-color: var(--accent, auto); }
a { text-decoration: underline; text-underline-offset: 2px; }
a > bdi:last-child { display: inline-block; color: var(--muted); font-size: 0.85em; }
`
