/** The one style sheet of these pages. It never changes, so that their policy can name it by its hash and let in no other. */
export const secretPageStyle = `
:root {
  color-scheme: light dark; --text: #1f2328; --muted: #59636e; --line: #8c959f; --paper: #ffffff; --ground: #f3f4f6;
  --accent: #4f46e5; --on-accent: #ffffff; --alert: #b42318; --note: #fff7e0; --on-note: #5c4400;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #e6e8eb; --muted: #a3abb4; --line: #6b747e; --paper: #1c1f24; --ground: #121417;
    --accent: #a5a0ff; --on-accent: #15131f; --alert: #ff9d92; --note: #352d16; --on-note: #f2dfa8;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; min-height: 100vh; min-height: 100dvh; display: grid; place-items: center; padding: 24px 16px;
  color: var(--text); background: var(--ground); overflow-wrap: anywhere;
  font: 16px/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif;
}
main { width: 100%; max-width: 27rem; padding: 28px; background: var(--paper); border-radius: 14px; }
h1 { margin: 0 0 12px; font-size: 1.35rem; line-height: 1.3; }
p { margin: 0 0 12px; }
main > :last-child { margin-bottom: 0; }
.what { padding-left: 12px; border-left: 3px solid var(--accent); white-space: pre-line; }
.muted { color: var(--muted); font-size: 0.9rem; }
.note { padding: 10px 12px; border-radius: 8px; background: var(--note); color: var(--on-note); font-size: 0.9rem; }
.alert { color: var(--alert); font-weight: 600; }
label { display: block; margin: 20px 0 6px; font-weight: 600; }
input, button { width: 100%; min-height: 48px; font: inherit; border-radius: 8px; }
input { padding: 10px 12px; color: inherit; background: transparent; border: 1px solid var(--line); }
button {
  margin: 14px 0 18px; padding: 10px 16px; border: 0; font-weight: 600; cursor: pointer;
  background: var(--accent); color: var(--on-accent);
}
input:focus-visible, button:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`
