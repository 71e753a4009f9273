import { mkdirSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { cleanUp, homeWithModel, serveFamiliar } from '../test/e2e/cli-process.ts'
import { openTmuxPane } from '../test/e2e/tmux-pane.ts'
import { startFakeModel } from '../test/support/fake-model/start-fake-model.ts'
import { openLocalSite } from '../test/support/local-site.ts'

/** Draws two moments of a chat in a real terminal into docs/pictures/terminal-1.png (dark) and terminal-2.png (light). */

const size = { columns: 92, rows: 37 }
const model = await startFakeModel()
const page = await openLocalSite((_, response) => response.end('Ferries from Valletta: 09:00, 11:30, 15:45.'))
const other = await openLocalSite((_, response) => response.end('Thank you.'))
const { home, env: keys } = homeWithModel(model.url)
const hosts = [page, other].map(({ port }) => `"127.0.0.1:${port}"`).join(', ')
const config = `[egress]\nallowed_hosts = [${hosts}]\n[memory]\nconversations = false\nextraction = false\n`
writeFileSync(join(home, 'familiar.toml'), config, { mode: 0o600 })
mkdirSync(join(home, 'workspace', 'travel'), { recursive: true })
for (const name of ['ferries.md', 'packing list.md', 'tickets.md']) {
  writeFileSync(join(home, 'workspace', 'travel', name), 'Gozo on Saturday.')
}
const env = { PATH: process.env.PATH ?? '', HOME: home, FAMILIAR_HOME: home, FAMILIAR_EMBEDDING: 'off', ...keys }
await serveFamiliar({ home, env })

const chat = await openTmuxPane({ args: ['chat'], env, ...size })
await chat.untilShows(/ready\s*$/)
model.reply([
  {
    thinking: { text: 'The departures are on the page of the line. I read it and compare with the plan for Saturday.' },
    text: 'I look at the timetable and at what you planned.',
    toolCalls: [
      { name: 'web_fetch', input: { url: page.origin } },
      { name: 'memory_query', input: { query: 'Gozo' } },
      { name: 'store_memory', input: { content: 'Prefers the early ferry' } },
    ],
  },
  {
    text: [
      'The **11:30** fits best: you arrive before noon, and the way back is free until 18:00.\n',
      '| From | Leaves | Arrives |\n|---|---|---|\n| Valletta | 09:00 | 09:45 |\n| Valletta | 11:30 | 12:15 |\n',
      'To have it in your calendar:\n',
      '```python\n# Saturday, with an hour to spare\nleave = at("10:30", zone="Europe/Malta")\nif weather.wind < 25:\n    remind(leave, "Ferry to Gozo")\n```',
    ].join('\n'),
  },
])
await chat.type('Which ferry to Gozo should I take on Saturday?')
await chat.press('Enter')
await chat.untilShows(/Ferry to Gozo[\s\S]* of \d+k \(.*ready\s*$/)
const first = await chat.screen({ colours: true })

model.reply({ text: 'I have read the whole logbook; nothing in it speaks against **Saturday**.' })
await chat.type('This is the logbook of the boat: ')
await chat.paste(Array.from({ length: 2_400 }, (_, at) => `${at}: wind 3, calm sea`).join('\n'))
await chat.press('Enter')
await chat.untilShows(/Saturday\.[\s\S]*ready\s*$/)
model.reply([{ toolCalls: [{ name: 'web_fetch', input: { url: `${other.origin}/book?seat=2` } }] }])
await chat.type('/context')
await chat.untilShows(/what fills/)
await chat.press('Enter')
await chat.untilShows(/summarised at/)
await chat.type('Book two seats, please')
await chat.press('Enter')
await chat.untilShows(/y allows it/)
const second = await chat.screen({ colours: true })
await chat.close()
await cleanUp()
await Promise.all([model.close(), page.close(), other.close()])

const looks = {
  dark: { back: '#14161b', text: '#d7dae0', red: '#e06c75', green: '#98c379', yellow: '#d9b36c', cyan: '#56b6c2' },
  light: { back: '#fbfaf7', text: '#2b2e34', red: '#b3261e', green: '#3d7a37', yellow: '#8a6100', cyan: '#00737d' },
}

const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
})
for (const [target, screen, look] of [
  ['docs/pictures/terminal-1.png', first, looks.dark],
  ['docs/pictures/terminal-2.png', second, looks.light],
] as const) {
  const tab = await browser.newPage({ viewport: { width: 800, height: 600 }, deviceScaleFactor: 2 })
  await tab.setContent(toPage(screen, look))
  await writeFile(target, await tab.locator('pre').screenshot())
  console.log(target)
}
await browser.close()

function toPage(screen: string, look: (typeof looks)['dark']): string {
  return `<!doctype html><meta charset="utf-8"><body style="margin:0">
<pre style="display:inline-block;margin:0;padding:18px 22px;background:${look.back};color:${look.text};font:14px/1.32 'DejaVu Sans Mono',monospace">${toHtml(screen.trimEnd(), look)}</pre>`
}

/** The few styles that the chat writes, as tmux gives them back. */
function toHtml(screen: string, look: (typeof looks)['dark']): string {
  const styles: Record<string, string> = {
    '1': 'font-weight:bold',
    '2': 'opacity:0.58',
    '3': 'font-style:italic',
    '4': 'text-decoration:underline',
    '7': `background:${look.text};color:${look.back}`,
    '31': `color:${look.red}`,
    '32': `color:${look.green}`,
    '33': `color:${look.yellow}`,
    '36': `color:${look.cyan}`,
  }
  const ends: Record<string, string[]> = { '22': ['1', '2'], '23': ['3'], '24': ['4'], '27': ['7'] }
  let active: string[] = []
  const without = (codes: readonly string[]) => active.filter((code) => !codes.includes(code))
  // biome-ignore lint/suspicious/noControlCharactersInRegex: styles of a terminal begin with one.
  const parts = screen.split(/\u001b\[([\d;]*)m/)
  return parts
    .map((part, place) => {
      if (place % 2 === 0) {
        const text = part.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
        return active.length === 0
          ? text
          : `<span style="${active.map((code) => styles[code]).join(';')}">${text}</span>`
      }
      for (const code of part.split(';')) {
        if (code === '' || code === '0') active = []
        else if (code === '39') active = without(['31', '32', '33', '36'])
        else if (ends[code]) active = without(ends[code])
        else if (styles[code]) active = [...active, code]
      }
      return ''
    })
    .join('')
}
