import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { RunningFamiliar } from '../support/running-familiar.ts'
import { said, toolOf } from '../support/scripted-familiar.ts'
import { greeterFiles, greeterManifest } from '../support/served-capabilities.ts'
import { describePage } from './support/describe-page.ts'
import { openPage, say } from './support/open-page.ts'
import { screenPaths, walkScreen } from './support/walk-screens.ts'

/** Each would set `fired` on the window, or contact another server, if it were anything but text. */
const hostile = [
  '<img src=x onerror="window.fired=1">',
  '<script>window.fired=1</script>',
  '"><svg onload=window.fired=1>',
  '<iframe srcdoc="<script>parent.fired=1</script>"></iframe>',
  '[click](javascript:window.fired=1)',
  '![p](https://evil.example/pixel.png)',
  '<link rel=stylesheet href=https://evil.example/x.css>',
  '{{constructor.constructor("window.fired=1")()}}',
  '</title><base href="https://evil.example/">',
]
/** The same for what typesets, colors and draws; too long for names. */
const drawn = [
  '[x](mailto:%E0%A4%A)',
  '$\\href{javascript:window.fired=1}{x}$ $\\htmlStyle{background:url(https://evil.example/m)}{x}$ $\\includegraphics{https://evil.example/i.png}$',
  '$$\\text{<img src=x onerror=window.fired=1>} \\htmlData{onclick=window.fired=1}{x}$$',
  '```html\n<img src=x onerror="window.fired=1"><script>window.fired=1</script>\n```',
  '```mermaid\nflowchart TD\n  A["<img src=x onerror=parent.fired=1;window.fired=1>"] --> B\n  click A href "javascript:window.fired=1"\n  click B call fired()\n```',
  '```mermaid\n%%{init: {"securityLevel": "loose", "htmlLabels": true, "themeCSS": "* { display: none }"}}%%\nflowchart LR\n  C["<iframe srcdoc=\'<script>top.fired=1</script>\'></iframe><svg onload=top.fired=1>"]\n```',
  '```mermaid\nflowchart LR\n  D --> E\n  style D fill:url(https://evil.example/css)\n```',
]
const all = [...hostile, ...drawn].join('\n\n')

describePage('hostile text', () => {
  it('PAGE-3 in names, titles, tags, tool output and file names is shown as text and has no effect', async () => {
    const card = {
      title: hostile[0] ?? '',
      html: '<p>card</p>',
      text: all,
      accentColor: null,
      backgroundColor: null,
      icon: null,
    }
    const look = toolOf('look', async () => ({ ...said(all), card, label: 'untrusted' }))
    const { page, fake, familiar, url } = await openPage({
      daemon: { extraTools: [look], env: { FAMILIAR_SANDBOX: 'embedded' } },
    })
    const send = async (method: string, path: string, body: object) => {
      const response = await familiar.request(method, `/api/v1${path}`, body)
      expect(response.ok, `${path}: ${await response.clone().text()}`).toBe(true)
    }
    for (const [index, text] of hostile.entries()) {
      await send('POST', '/memories', {
        content: `${index} ${text}`,
        title: text,
        tags: [text],
        category: text.slice(0, 60),
      })
      await send('POST', '/memories/facts', { entity: text, attribute: text, value: text })
      await send('POST', '/memories/commitments', { what: text, to_whom: text })
    }
    await send('PUT', '/blocks/notes.md', { content: all })
    // As bad as the names of blocks may be: letters and digits, and what every object has.
    for (const label of ['constructor', 'javascript alert 1', 'toString']) {
      await send('PUT', `/blocks/${encodeURIComponent(label)}`, { content: all })
    }
    for (const label of ['<img src=x onerror=window.fired=1>', '"><svg onload=window.fired=1>']) {
      const refused = await familiar.request('PUT', `/api/v1/blocks/${encodeURIComponent(label)}`, { content: all })
      expect(refused.status, label).toBe(400)
    }
    await send('POST', '/pins', { label: 'notes.md' })
    await addTool(familiar)
    await addCapability(familiar)
    await send('POST', '/schedules', { cron: '0 8 * * *', message: all })

    fake.reply([
      {
        thinking: { text: all },
        text: all,
        // A model may call by any name.
        toolCalls: [
          { name: 'look', input: { [hostile[0] ?? '']: all } },
          ...hostile.map((name) => ({ name, input: {} })),
        ],
      },
      { text: all },
    ])
    await page.locator('input[type=file]').setInputFiles({
      name: '<img src=x onerror="window.fired=1">.png',
      mimeType: 'image/png',
      buffer: Buffer.from('x'),
    })
    await say(page, all)
    await page.locator('article[aria-busy=false]').waitFor()
    const log = page.getByRole('log')
    const folded = log.getByRole('button', { expanded: false })
    while ((await folded.count()) > 0) await folded.first().click()
    expect(await log.getByText('<script>window.fired=1</script>').count()).toBeGreaterThan(2)
    // They were really drawn, or given up.
    await log.locator('.katex').first().waitFor()
    await log.locator('.diagram').or(log.getByText('This diagram could not be drawn.')).first().waitFor()

    const session = /\/talk\/([\w-]+)$/.exec(page.url())?.[1]
    await send('PUT', `/sessions/${session}/title`, { title: hostile[0] ?? '' })
    await page.reload()
    await page.getByRole('heading', { name: hostile[0] ?? '' }).waitFor()
    const seen: string[] = []
    for (const path of await screenPaths(page)) {
      for await (const name of walkScreen(page, url, path)) {
        // Everything that can be pressed without changing data.
        if ((await page.getByRole('main').textContent())?.includes('window.fired')) seen.push(name)
        expect(await made(page.evaluate(strangeElements)), name).toEqual([])
        expect(await page.evaluate('window.fired'), name).toBeUndefined()
      }
    }
    // It was there to be seen, or this test shows nothing.
    expect(seen.map((name) => name.split(' ')[0])).toEqual(
      expect.arrayContaining(['/memory', '/schedules', '/toolbox', '/capabilities']),
    )
    const details = ['/toolbox/hostile_tool', '/capabilities/greeter', '/blocks/constructor.md', `/blocks/${all}`]
    for (const path of details) {
      for await (const name of walkScreen(page, url, encodeURI(path).replaceAll(/[?#]/g, encodeURIComponent))) {
        expect(await made(page.evaluate(strangeElements)), name).toEqual([])
        expect(await page.evaluate('window.fired'), name).toBeUndefined()
      }
    }
  })
})

/** Of a folder: what it says of itself is a stranger's. */
async function addTool(familiar: RunningFamiliar): Promise<void> {
  const folder = join(familiar.home, 'tools', 'hostile_tool')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const manifest = {
    name: 'hostile_tool',
    description: hostile.slice(0, 4).join(' '),
    trigger: { type: 'on_demand' },
    parameters: { word: { type: 'string', description: hostile[0] } },
    returns: {},
    sandbox: { network: 'none' },
  }
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest))
  writeFileSync(join(folder, 'runner.sh'), `echo '{"text":"no"}'`)
  const read = await familiar.request('POST', '/api/v1/tools/hostile_tool/reload', {})
  expect(await read.json()).toMatchObject({ problem: null })
}

async function addCapability(familiar: RunningFamiliar): Promise<void> {
  const directory = join(familiar.home, 'hostile')
  mkdirSync(directory, { mode: 0o700 })
  const manifest = greeterManifest({ description: hostile.join(' ').slice(0, 400), tags: ['window.fired'] })
  const files = greeterFiles({
    'manifest.json': manifest,
    'RUN.md': all,
    'main.py': `${greeter}# ${hostile.join(' ')}\n`,
  })
  for (const [path, text] of Object.entries(files)) writeFileSync(join(directory, path), text)
  const response = await familiar.request('POST', '/api/v1/local/capabilities/register', { directory })
  expect(await response.json()).toMatchObject({ ok: true, problems: [] })
}

const greeter = 'def run(args):\n    return "Hello, " + args["name"] + "!"\n'

const made = async (found: Promise<unknown>) => (await found) as string[]

/** Runs in the page: elements that only hostile text could have made. */
const strangeElements = `[...document.querySelectorAll('main img:not(.diagram[src^="data:image/svg+xml"]), main script, main base, main link, main svg[onload], main iframe[srcdoc*="fired"], a[href^="javascript"]')]
  .map((element) => element.outerHTML)`
