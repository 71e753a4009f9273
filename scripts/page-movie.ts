import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { closeBrowser } from '../test/page/support/chromium.ts'
import { openPage } from '../test/page/support/open-page.ts'
import { fillWithSamples, sampleOptions } from '../test/page/support/sample-data.ts'
import { settle } from '../test/page/support/walk-screens.ts'

// Films the page over a real daemon with samples, for the README: `node scripts/page-movie.ts` writes docs/pictures/tour.svg, whose
// frames are pictures of the page that follow one another without a script.

const target = join(import.meta.dirname, '../docs/pictures/tour.svg')
const size = { width: 960, height: 600 }
const captionHeight = 44

interface Frame {
  picture: Buffer
  caption: string
  seconds: number
}

const frames: Frame[] = []
const opened = await openPage({
  ...sampleOptions,
  context: { viewport: size, colorScheme: 'light', reducedMotion: 'reduce' },
})
try {
  const { page, url, familiar, fake } = opened
  await fillWithSamples(familiar, fake)

  await page.goto(`${url}/`)
  await settle(page)
  const message = page.getByRole('combobox', { name: 'Message' })
  await film(page, 'Your own agent, on your own computer', 2)
  const question = 'Is my train to Ghent on time?'
  await message.pressSequentially(question.slice(0, 15))
  await film(page, 'Ask something', 0.8)
  await message.pressSequentially(question.slice(15))
  await film(page, 'Ask something', 1.2)

  fake.reply([
    { toolCalls: [{ name: 'trains', input: { to: 'Ghent' } }], delayMs: 600 },
    { text: trainAnswer(), chunkDelayMs: 60 },
  ])
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.waitForTimeout(500)
  await film(page, 'It recalls what it knows about you and calls a tool', 1.6)
  await page.getByText('late').first().waitFor()
  await page.waitForTimeout(500)
  await film(page, 'The result is shown as a card', 1.6)
  await page.getByText('quiet').last().waitFor()
  await settle(page)
  await film(page, 'The answer uses what it remembers about you', 4)

  await page.goto(`${url}/memory?q=train`)
  await settle(page)
  await film(page, 'Every memory has a source; you can correct and forget it', 3.5)
  for (const [path, caption] of [
    ['/toolbox', 'Tools: built in, your own, and those that it built'],
    ['/schedules', 'Reminders and recurring tasks'],
    ['/cost', 'The cost of every call, under limits that you set'],
  ] as const) {
    await page.goto(url + path)
    await settle(page)
    await film(page, caption, 3)
  }
} finally {
  await opened.close()
  await closeBrowser()
}
await writeFile(target, movieOf(frames))
console.log(`${target}: ${frames.length} frames`)

function trainAnswer(): string {
  return 'The **17:42** is 12 minutes late, from platform 4.\n\nThe next one, at **18:12**, is on time. You like the early one because it is quiet.'
}

async function film(page: Page, caption: string, seconds: number): Promise<void> {
  // Plots and cards come a moment after the text around them.
  await page.waitForTimeout(300)
  frames.push({ picture: await page.screenshot({ type: 'jpeg', quality: 82 }), caption, seconds })
}

/** One image per frame, each visible for its part of the whole. */
function movieOf(shown: readonly Frame[]): string {
  const total = shown.reduce((sum, { seconds }) => sum + seconds, 0)
  const { width, height } = size
  let start = 0
  const parts = shown.map(({ picture, caption, seconds }, index) => {
    const [from, until] = [(100 * start) / total, (100 * (start + seconds)) / total]
    start += seconds
    const hidden = [...(from > 0 ? [`0%, ${(from - 0.01).toFixed(2)}%`] : []), `${until.toFixed(2)}%, 100%`]
    const steps = `${hidden.join(', ')} { visibility: hidden } ${from.toFixed(2)}%, ${(until - 0.01).toFixed(2)}% { visibility: visible }`
    return {
      style: `@keyframes f${index} { ${steps} } .f${index} { animation: f${index} ${total}s step-end infinite; visibility: ${index === 0 ? 'visible' : 'hidden'} }`,
      element: `<g class="f${index}"><text x="${width / 2}" y="29" text-anchor="middle">${caption}</text><image y="${captionHeight}" width="${width}" height="${height}" href="data:image/jpeg;base64,${picture.toString('base64')}"/></g>`,
    }
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height + captionHeight}" viewBox="0 0 ${width} ${height + captionHeight}" font-family="system-ui, sans-serif" font-size="18" fill="#ffffff">`,
    `<style>${parts.map(({ style }) => style).join('\n')}</style>`,
    `<rect width="100%" height="100%" fill="#24292f"/>`,
    ...parts.map(({ element }) => element),
    '</svg>\n',
  ].join('\n')
}
