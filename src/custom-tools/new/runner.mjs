// A tool of Familiar: it reads one JSON object from standard input and prints one.
import { readFileSync } from 'node:fs'

// params as the manifest describes them, settings as `familiar tools config` has set them, and telemetry: time, place and
// language, null where they are not known.
const { params, telemetry } = JSON.parse(readFileSync(0, 'utf8'))

try {
  const city = telemetry.city ? ` You're in ${telemetry.city}.` : ''
  const text = `Hello, ${params.name}!${city}`
  // Inline styles only. What is no plain HTML is taken out before it is shown.
  const html = `<p style="font-size: 1.4rem; margin: 0">${escapeHtml(text)}</p>`
  console.log(JSON.stringify({ text, html }))
} catch (problem) {
  console.log(JSON.stringify({ error: problem.message }))
  process.exitCode = 1
}

function escapeHtml(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
