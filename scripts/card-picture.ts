import { writeFile } from 'node:fs/promises'
import { chromium } from 'playwright-core'
import { frameAttributes, frameDocument, framePageHeaders, framePagePolicy } from '../src/tools/cards/frame-document.ts'
import { makeCard } from '../src/tools/cards/make-card.ts'

/** Draws the card below as the page shows it, light and dark, into docs/pictures/card.png. */

const target = 'docs/pictures/card.png'

const days = [
  { name: 'Mon', high: 21, low: 14, rain: 5 },
  { name: 'Tue', high: 23, low: 15, rain: 0 },
  { name: 'Wed', high: 19, low: 13, rain: 60 },
  { name: 'Thu', high: 18, low: 12, rain: 35 },
  { name: 'Fri', high: 22, low: 14, rain: 10 },
]
const x = (at: number) => 20 + at * 70
const y = (degrees: number) => 100 - (degrees - 10) * 6
const curve = days.map(({ high }, at) => `${x(at)},${y(high)}`).join(' ')

const weather = `
<div style="display:flex; align-items:center; gap:14px; margin-bottom:8px">
  <span style="font-size:2.4rem; line-height:1">🌤️</span>
  <span style="font-size:2rem; font-weight:300">21°</span>
  <span style="opacity:0.75">Partly cloudy, light wind from the <b>north-west</b></span>
</div>
<svg viewBox="0 0 320 120" width="100%" role="img" aria-label="Highs of the week">
  <defs><linearGradient id="warm" x1="0" y1="0" x2="0" y2="1">
    <stop offset="0%" stop-color="#f5a623" stop-opacity="0.5"/><stop offset="100%" stop-color="#f5a623" stop-opacity="0"/>
  </linearGradient></defs>
  <polygon points="20,110 ${curve} 300,110" fill="url(#warm)"/>
  <polyline points="${curve}" fill="none" stroke="#f5a623" stroke-width="2.5" stroke-linejoin="round"/>
  ${days.map(({ high, name }, at) => `<circle cx="${x(at)}" cy="${y(high)}" r="3.5" fill="#f5a623"/><text x="${x(at)}" y="${y(high) - 9}" font-size="11" text-anchor="middle" fill="currentColor">${high}°</text><text x="${x(at)}" y="119" font-size="9" text-anchor="middle" fill="currentColor" opacity="0.6">${name}</text>`).join('')}
</svg>
<table style="width:100%; margin-top:6px">
  <tr><th>Day</th><th style="text-align:right">High</th><th style="text-align:right">Low</th><th style="text-align:right">Rain</th></tr>
  ${days.map(({ name, high, low, rain }) => `<tr><td>${name}</td><td style="text-align:right">${high}°</td><td style="text-align:right; opacity:0.7">${low}°</td><td style="text-align:right; color:#4a90d4">${rain} %</td></tr>`).join('')}
</table>
<details open><summary>Advice</summary><ul style="margin:4px 0"><li>Take a coat on <b>Wednesday</b>.</li><li>Sea at 17°, see <a href="https://weather.example/malta/sea">the bulletin</a>.</li></ul></details>
<p style="font-size:0.8rem; opacity:0.6">Updated at 08:30 · <span style="background:rgba(46,160,67,0.18); border-radius:9px; padding:1px 8px">good air</span></p>
<script>alert('never')</script><img src="https://tracker.example/pixel.gif" alt="">`

const card = makeCard({
  html: weather,
  manifestTitle: 'Weather in {{location}}',
  params: { location: 'Valletta' },
  accentColor: '#4a90d4',
  backgroundColor: 'rgba(74, 144, 212, 0.10)',
  icon: 'fa-cloud-sun',
})
if (!card) throw new Error('The example makes no card.')

const policy = Object.entries(framePagePolicy).map(([directive, value]) => `${directive} ${value}`)
const attributes = Object.entries({ ...frameAttributes, srcdoc: frameDocument(card) })
  .map(([name, value]) => `${name}="${value.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"`)
  .join(' ')
const page = (scheme: string) =>
  `<!doctype html><meta name="color-scheme" content="${scheme}"><body style="margin:0;padding:14px;background:${scheme === 'dark' ? '#111' : '#eee'}">
  <iframe ${attributes} style="display:block;width:380px;height:560px;border:0;border-radius:10px"></iframe>`

const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
})
const pictures: Buffer[] = []
for (const colorScheme of ['light', 'dark'] as const) {
  const tab = await browser.newPage({ colorScheme, viewport: { width: 408, height: 588 } })
  await tab.route('http://page.test/', (route) =>
    route.fulfill({
      contentType: 'text/html; charset=utf-8',
      headers: { 'content-security-policy': `${policy.join('; ')}`, ...framePageHeaders },
      body: page(colorScheme),
    }),
  )
  await tab.goto('http://page.test/')
  pictures.push(await tab.screenshot())
}
const both = await browser.newPage({ viewport: { width: 816, height: 588 } })
const images = pictures.map(
  (picture) => `<img src="data:image/png;base64,${picture.toString('base64')}" style="float:left">`,
)
await both.setContent(`<!doctype html><body style="margin:0">${images.join('')}`)
await writeFile(target, await both.screenshot())
await browser.close()
console.log(`${target}\n\n${card.text}`)
