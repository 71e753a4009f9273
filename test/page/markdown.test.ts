import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { describePage } from './support/describe-page.ts'
import { openPage, say } from './support/open-page.ts'

const columns = Array.from({ length: 12 }, (_, at) => `Temperature ${at + 1}`)
const reply = [
  '## A rich reply',
  '- [x] Buy **milk**\n- [ ] Call the plumber about the kitchen tap, which drips again since the weekend\n- [ ] Water the plants',
  `| ${columns.join(' | ')} |\n|${columns.map(() => '---|').join('')}\n| ${columns.map((_, at) => `measurement ${at}`).join(' | ')} |`,
  'Inline: $e^{i\\pi} + 1 = 0$ and \\(a^2 + b^2 = c^2\\); tickets cost $5 and $10.',
  '$$\\int_0^\\infty e^{-x^2}\\,dx = \\frac{\\sqrt{\\pi}}{2}$$',
  '\\[\n\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix} \\cdot \\vec{x} = \\sum_{n=1}^{\\infty} \\frac{1}{n^2}\n\\]',
  '```ts\n// Adds two numbers.\nexport function add(a: number, b: number): number {\n  return a + b // "done"\n}\n```',
  '```mermaid\nflowchart LR\n  A[Question] --> B{Known?}\n  B -->|yes| C[Answer]\n  B -->|no| D[Look it up]\n  D --> C\n```',
  '```mermaid\nflowchart ][ this is no diagram\n```',
  'Rain fell[^1] on **nested** lists:\n\n1. one\n   - two\n     - three\n2. four\n\n[^1]: Twelve millimeters, says the *station*.',
  'See “https://example.com” and [https://mybank.example/ evil.test](https://evil.test/login).',
].join('\n\n')

interface Box {
  scrollWidth: number
  clientWidth: number
}

const log = (page: Page) => page.getByRole('log', { name: 'Conversation' })

/** For a person to look at, where `PAGE_SHOTS` names a folder. */
async function shoot(page: Page, name: string): Promise<void> {
  const folder = process.env.PAGE_SHOTS
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`) })
}

describePage('Markdown in the page', () => {
  it.each([
    { size: 'wide', viewport: { width: 1280, height: 800 } },
    { size: 'narrow', viewport: { width: 390, height: 844 } },
  ])('PAGE-3a a rich reply is drawn whole on a $size screen, in light and dark', async ({ size, viewport }) => {
    const { page, fake } = await openPage({ context: { viewport, colorScheme: 'light' } })
    fake.reply({ text: reply, chunkSize: 40, chunkDelayMs: 2 })
    await say(page, 'Show everything')
    await log(page).locator('article[aria-busy=false]').waitFor()
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme })
      const diagram = log(page).getByRole('img', { name: 'Diagram' })
      await page.locator(`:root[data-theme=${scheme}]`).waitFor({ state: 'attached' })
      await diagram.scrollIntoViewIfNeeded()
      await expect
        .poll(() => diagram.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth))
        .toBeGreaterThan(100)
      await log(page).getByText('This diagram could not be drawn.').waitFor()
      await log(page).locator('.code-piece', { hasText: 'function' }).first().waitFor()
      await expect.poll(() => log(page).locator('.katex').count()).toBe(4)
      expect(await page.evaluate(measure)).toEqual({
        scrollsPage: false,
        scrollsTable: true,
        brokenCells: 0,
        tasks: [true, true, true],
        isSmallCode: false,
        // Keywords, names and comments differ.
        hasColors: true,
        isMathFontThere: true,
        links: ['https://example.com/', 'https://evil.test/login'],
      })
      await log(page).getByText('(evil.test)').waitFor()
      await log(page).getByText('tickets cost $5 and $10.').waitFor()
      for (const [at, target] of ['Buy', 'Inline:', 'Diagram', 'Rain fell'].entries()) {
        const place = target === 'Diagram' ? diagram : log(page).getByText(target).first()
        await place.evaluate((element) => element.scrollIntoView({ block: 'start' }))
        await shoot(page, `${size}-${scheme}-${at}`)
      }
    }
  })

  it('PAGE-3b a table is copied and downloaded as CSV, and opened in the preview; a long one shows its first rows', async () => {
    const { page, context, fake } = await openPage({ context: { permissions: ['clipboard-read', 'clipboard-write'] } })
    const rows = Array.from({ length: 900 }, (_, at) => `| row ${at} | **${at}**, say |`)
    fake.reply({
      text: `| name | value |\n|---|---:|\n| Kiel | 9,5 |\n\nThen:\n\n| a | b |\n|---|---|\n${rows.join('\n')}`,
    })
    await say(page, 'Tables')
    await log(page).locator('article[aria-busy=false]').waitFor()
    await log(page).getByRole('button', { name: 'Copy as CSV' }).first().click()
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe('name,value\r\nKiel,"9,5"\r\n')
    const downloading = page.waitForEvent('download')
    await log(page).getByRole('button', { name: 'Download CSV' }).last().click()
    const text = readFileSync(await (await downloading).path(), 'utf8')
    expect(text.split('\r\n')).toHaveLength(902)
    expect(text).toContain('row 899,"899, say"')
    expect(await log(page).locator('tbody tr').count()).toBe(201)
    await log(page).getByRole('button', { name: '200 of 900 rows. Show all' }).click()
    await expect.poll(() => log(page).locator('tbody tr').count()).toBe(901)
    await log(page).getByRole('button', { name: 'Open in preview' }).last().click()
    await page
      .getByRole('complementary', { name: 'Preview' })
      .getByRole('cell', { name: 'row 899', exact: true })
      .waitFor()
    await context.clearPermissions()
  })

  it('PAGE-3b a code block is wrapped and downloaded under its name', async () => {
    const { page, fake } = await openPage()
    fake.reply({ text: `\`\`\`python tools/long.py\nprint("${'word '.repeat(200)}")\n\`\`\`` })
    await say(page, 'Code')
    await log(page).getByText('tools/long.py').waitFor()
    const code = log(page).locator('pre')
    const overflows = () =>
      code.evaluate((element) => (element as unknown as Box).scrollWidth > (element as unknown as Box).clientWidth)
    expect(await overflows()).toBe(true)
    await log(page).getByRole('button', { name: 'Wrap lines' }).click()
    await expect.poll(overflows).toBe(false)
    const downloading = page.waitForEvent('download')
    await log(page).getByRole('button', { name: 'Download', exact: true }).click()
    expect((await downloading).suggestedFilename()).toBe('long.py')
  })

  it('PAGE-3a code that takes too long to highlight stays readable, and the page stays responsive', async () => {
    const { page, fake } = await openPage()
    const slow = `${'<'.repeat(900)}\n`.repeat(30)
    fake.reply({ text: `\`\`\`tsx\n${slow}\`\`\`\n\nThe end.` })
    await say(page, 'Show the code')
    await log(page).getByText('The end.').waitFor()
    await page.getByRole('combobox', { name: 'Message' }).fill('still here')
    await log(page).locator('pre', { hasText: '<<<<' }).waitFor()
  })

  it('PAGE-3a a reply with a malformed address opens, now and after a reload', async () => {
    const { page, fake } = await openPage()
    fake.reply({ text: 'Write to [x](mailto:%E0%A4%A) or [y](https://%E0%A4%A/ "%")\n\nThe end.' })
    await say(page, 'Whom do I write to?')
    await log(page).getByText('The end.').waitFor()
    await page.reload()
    await log(page).getByText('The end.').waitFor()
    await log(page).getByText('(%E0%A4%A)').waitFor()
    await log(page).getByText('Whom do I write to?').waitFor()
  })

  it('PAGE-3a the document of diagrams has no origin, no network and no parent but this page', async () => {
    const { page, url } = await openPage()
    const response = await page.request.get(`${url}/diagram.html`)
    const policy = response.headers()['content-security-policy'] ?? ''
    expect(policy).toContain('sandbox allow-scripts;')
    expect(policy).not.toContain('allow-same-origin')
    expect(policy).toContain(`default-src 'none'`)
    expect(policy).toContain(`frame-ancestors 'self'`)
    expect(policy).not.toContain('connect-src')
    // A document without an origin may load the page's own scripts and nothing else.
    const script = /src="(\/assets\/[^"]+)"/.exec(await response.text())?.[1] ?? ''
    const asked = async (path: string) => await page.request.get(`${url}${path}`, { headers: { origin: 'null' } })
    expect((await asked(script)).headers()['access-control-allow-origin']).toBe('null')
    for (const path of ['/', '/diagram.html', '/api/v1/sessions', '/healthz', '/assets/../api/v1/sessions']) {
      expect((await asked(path)).status(), path).toBe(403)
    }
  })
})

/** Runs in the page. */
const measure = `(() => {
  const all = (selector) => [...document.querySelectorAll('[role=log] ' + selector)]
  const box = all('.table-box')[0]
  const lineHeight = 15 * 1.55
  // Whether the box and the first word of its text stand in one line.
  const isOneLine = (item) => {
    const tick = item.querySelector('input').getBoundingClientRect()
    const range = document.createRange()
    const words = [...item.childNodes].find((node) => node.nodeType === Node.TEXT_NODE)
    range.setStart(words, 0)
    range.setEnd(words, 1)
    const text = range.getBoundingClientRect()
    return text.left > tick.right && text.top < tick.bottom && text.bottom > tick.top
  }
  return {
    scrollsPage: document.documentElement.scrollWidth > innerWidth,
    scrollsTable: box.scrollWidth > box.clientWidth,
    // Two words at most, so never more than two lines.
    brokenCells: all('td').concat(all('th')).filter((cell) => cell.clientHeight > lineHeight * 2 + 20).length,
    tasks: all('li.task').map(isOneLine),
    isSmallCode: all('code').some((code) => Number.parseFloat(getComputedStyle(code).fontSize) < 13),
    hasColors: new Set(all('.code-piece').map((piece) => getComputedStyle(piece).color)).size > 3,
    isMathFontThere: [...document.fonts].some((font) => font.family.includes('KaTeX') && font.status === 'loaded'),
    links: all('.prose a').map((link) => link.href).filter((href) => !href.startsWith(location.origin)),
  }
})()`
