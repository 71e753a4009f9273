import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { ensurePageIsBuilt } from '../test/page/support/built-page.ts'
import { chromiumPath, closeBrowser } from '../test/page/support/chromium.ts'
import { type OpenedPage, openPage, say } from '../test/page/support/open-page.ts'
import { weighPage } from '../test/page/support/weigh-page.ts'
import { percentile, rounded } from './statistics.ts'

/**
 * The size of the page, and its speed in Chromium: scrolling a long conversation, and typing while a reply streams in, with a very
 * long reply on the screen or on its way, in a conversation of 300 messages, and beside a list of a thousand conversations.
 */
export async function measurePage({ messages, say: tell }: { messages: number; say(line: string): void }) {
  await ensurePageIsBuilt()
  const weight = weighPage(join(import.meta.dirname, '../.runtime/page'))
  if (chromiumPath === undefined) return { weight, missing: 'There is no Chromium here.' }
  // All of it comes from one address, and the fake model has a price.
  const toml = '[http]\nrate_limit_per_minute = 1000000\n[budget]\nper_day_usd = 10000\nper_month_usd = 10000\n'
  const opened = await openPage({ toml })
  try {
    const session = await makeSession(opened, messages, tell)
    tell('opening it')
    const opening = await measureOpening(opened, session)
    tell('scrolling through it')
    const scrolling = await measureScrolling(opened)
    tell('typing, idle and while a reply streams in')
    const typing = await measureTyping(opened, session)
    const hard = await measureHardCases(opened, tell)
    return { weight, messages, opening, scrolling, typing, ...hard }
  } finally {
    await opened.close()
    await closeBrowser()
  }
}

async function makeSession(
  { familiar, fake }: OpenedPage,
  messages: number,
  tell: (line: string) => void,
  name = 'long',
): Promise<string> {
  let session = ''
  fake.respondWith(({ n }) => ({
    text: `Answer ${n}: **yes**, with a list\n\n- one\n- two\n\nand a line of code: \`let n = ${n}\`.`,
  }))
  for (let said = 0; said < messages; said += 2) {
    if (said % 200 === 0) tell(`${said} of ${messages} messages`)
    session = (await familiar.chat(`Question ${said}: is it so?`, { session: name })).session_id
  }
  return session
}

async function measureOpening({ page, url }: OpenedPage, session: string) {
  await page.goto(`${url}/talk/${session}`)
  await page.locator('article').last().waitFor()
  const toConversationMs = (await page.evaluate('performance.now()')) as number
  const paint = await page.evaluate(`performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null`)
  return { firstContentfulPaintMs: round(Number(paint)), toConversationMs: round(toConversationMs) }
}

async function measureScrolling({ page }: OpenedPage) {
  const earlier = page.getByRole('button', { name: 'Show earlier messages' })
  while ((await earlier.count()) > 0) {
    const answered = page.waitForResponse((response) => response.url().includes('/turn-events'))
    await earlier.dispatchEvent('click')
    await (await answered).finished()
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
  }
  const frames = (await page.evaluate(scrolls)) as number[]
  return { drawnAtOnce: await page.locator('[role=log] [data-index]').count(), ...spread(frames) }
}

async function measureTyping({ page, fake, url }: OpenedPage, session: string) {
  await page.goto(`${url}/talk/${session}`)
  await page.locator('article').last().waitFor()
  const idle = await typeKeys(page)
  // Four characters are about a token: two hundred of them a second.
  fake.respondWith(() => ({ text: 'word '.repeat(2_400), chunkSize: 4, chunkDelayMs: 5 }))
  await page.getByRole('combobox', { name: 'Message' }).fill('')
  await say(page, 'Tell me a long story')
  await page.locator('article[aria-busy=true]').getByText('word word').first().waitFor()
  const whileStreaming = await typeKeys(page)
  const isStillStreaming = (await page.locator('article[aria-busy=true]').count()) > 0
  return { idle: spread(idle), whileStreaming: spread(whileStreaming), isStillStreaming }
}

const longReply = 100_000

/** A long reply as models write them: headings, prose, lists, code, tables and formulas. */
function makeLongReply(): string {
  let text = ''
  for (let part = 1; text.length < longReply; part += 1) {
    text += `## Part ${part}\n\n${`Some **words** about part ${part}, with \`code\` and a [link](https://example.org). `.repeat(5)}\n\n`
    text += `- one\n- two\n  - nested\n- three\n\n| a | b | c |\n|---|---|---|\n${'| 1 | 2 | 3 |\n'.repeat(6)}\n`
    text += `\`\`\`ts\n${Array.from({ length: 12 }, (_, at) => `const value${at} = compute(${part}, '${at}')\n`).join('')}\`\`\`\n\n`
    text += `Then $x_{${part}}^2 + 1$ follows.\n\n`
  }
  return text.slice(0, longReply)
}

/** One fence, list, table or paragraph without an end: nothing of it is whole before the last character. */
const endlessReplies: Readonly<Record<string, string>> = {
  mixed: makeLongReply(),
  code: `\`\`\`python\n${'print("a line of a long program", value)\n'.repeat(longReply / 40)}`,
  list: '- an item of a **long** list, with some words\n'.repeat(longReply / 46),
  table: `| name | value |\n|---|---|\n${'| a name of a row | 12,345 |\n'.repeat(longReply / 29)}`,
}

/** Each case is what a page must stay quick with. */
async function measureHardCases(opened: OpenedPage, tell: (line: string) => void) {
  const { page, familiar, fake, url } = opened
  async function typeIn(session: string): Promise<ReturnType<typeof spread>> {
    await page.goto(`${url}/talk/${session}`)
    await page.locator('article').last().waitFor()
    await page.waitForTimeout(1_500)
    return spread(await typeKeys(page))
  }

  tell(`300 messages`)
  let session = await makeSession(opened, 300, () => undefined, 'three hundred')
  const threeHundredMessages = await typeIn(session)

  tell(`a reply of ${longReply} characters on the screen`)
  fake.respondWith(() => ({ text: endlessReplies.mixed ?? '' }))
  session = (await familiar.chat('Tell me everything', { session: 'long reply' })).session_id
  const longReplyOnScreen = await typeIn(session)

  const longReplyStreaming: Record<string, ReturnType<typeof spread> & { characters: number }> = {}
  for (const [name, text] of Object.entries(endlessReplies)) {
    tell(`a reply of ${longReply} characters that streams in: ${name}`)
    fake.respondWith(() => ({ text, chunkSize: 60, chunkDelayMs: 4 }))
    await page.goto(`${url}/`)
    await page.getByRole('combobox', { name: 'Message' }).fill('')
    await say(page, 'Tell me everything again')
    const shown = page.locator('article[aria-busy=true]')
    const length = async () => ((await shown.textContent().catch(() => '')) ?? '').length
    // A long table shows its first rows only.
    for (let waited = 0; waited < 25 && (await length()) < longReply * 0.6; waited += 1) await page.waitForTimeout(200)
    const times = await typeKeys(page)
    longReplyStreaming[name] = { characters: await length(), ...spread(times) }
    await shown.waitFor({ state: 'detached', timeout: 120_000 })
  }

  tell('a thousand conversations')
  fake.respondWith(() => ({ text: 'Yes.' }))
  for (let made = 0; made < 1_000; made += 20) {
    const some = Array.from({ length: 20 }, (_, at) =>
      familiar.chat(`Question ${made + at}`, { session: `s${made + at}` }),
    )
    await Promise.all(some)
  }
  const thousandConversations = await typeIn(session)
  return { threeHundredMessages, longReplyOnScreen, longReplyStreaming, thousandConversations }
}

/** From the key to the paint that shows it. */
async function typeKeys(page: Page): Promise<number[]> {
  await page.evaluate(watchesKeys)
  await page.getByRole('combobox', { name: 'Message' }).focus()
  await page.getByRole('combobox', { name: 'Message' }).fill('')
  for (const letter of 'the quick brown fox jumps over the lazy dog and goes home again')
    await page.keyboard.press(letter === ' ' ? 'Space' : letter)
  return (await page.evaluate('window.keyTimes')) as number[]
}

const watchesKeys = `(() => {
  window.keyTimes = []
  window.removeEventListener('keydown', window.keyWatcher, true)
  window.keyWatcher = (event) => requestAnimationFrame(() => {
    // A message comes after the frame is drawn.
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => window.keyTimes.push(performance.now() - event.timeStamp)
    port2.postMessage(null)
  })
  window.addEventListener('keydown', window.keyWatcher, true)
})()`

/** From the newest towards the oldest, as fast as a wheel does, and the time of every frame on the way. */
const scrolls = `new Promise((resolve) => {
  const list = document.querySelector('[role=log]')
  const frames = []
  let before = performance.now()
  list.scrollTop = list.scrollHeight
  requestAnimationFrame(function step(now) {
    frames.push(now - before)
    before = now
    list.scrollTop -= 150
    if (list.scrollTop <= 0 || frames.length >= 240) resolve(frames.slice(2))
    else requestAnimationFrame(step)
  })
})`

function spread(times: number[]) {
  const sorted = times.toSorted((one, other) => one - other)
  return {
    count: sorted.length,
    p50Ms: round(percentile(sorted, 0.5)),
    p95Ms: round(percentile(sorted, 0.95)),
    worstMs: round(sorted.at(-1) ?? 0),
  }
}

const round = (value: number) => rounded(value, 1)
