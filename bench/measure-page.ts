import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { ensurePageIsBuilt } from '../test/page/support/built-page.ts'
import { chromiumPath, closeBrowser } from '../test/page/support/chromium.ts'
import { type OpenedPage, openPage, say } from '../test/page/support/open-page.ts'
import { weighPage } from '../test/page/support/weigh-page.ts'
import { percentile, rounded } from './statistics.ts'

/**
 * The size of the page, and its speed in Chromium: scrolling a long conversation, and typing while a reply streams in.
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
    return { weight, messages, opening, scrolling, typing }
  } finally {
    await opened.close()
    await closeBrowser()
  }
}

async function makeSession({ familiar, fake }: OpenedPage, messages: number, tell: (line: string) => void) {
  let session = ''
  fake.respondWith(({ n }) => ({
    text: `Answer ${n}: **yes**, with a list\n\n- one\n- two\n\nand a line of code: \`let n = ${n}\`.`,
  }))
  for (let said = 0; said < messages; said += 2) {
    if (said % 200 === 0) tell(`${said} of ${messages} messages`)
    session = (await familiar.chat(`Question ${said}: is it so?`, { session: 'long' })).session_id
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
  const earlier = page.getByRole('button', { name: 'Show what was said before' })
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

/** From the key to the paint that shows it. */
async function typeKeys(page: Page): Promise<number[]> {
  await page.evaluate(watchesKeys)
  await page.getByRole('combobox', { name: 'Message' }).focus()
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
