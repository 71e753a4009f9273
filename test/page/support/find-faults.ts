import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axeSource = readFileSync(
  createRequire(new URL('../../../web/package.json', import.meta.url)).resolve('axe-core/axe.min.js'),
  'utf8',
)

interface Finding {
  id: string
  impact: string
  nodes: { target: string[]; html: string; failureSummary: string }[]
}

/** The findings of axe for the current screen, without minor ones. */
export async function findFaults(page: Page): Promise<string[]> {
  await page.evaluate(axeSource)
  const found = (await page.evaluate(
    `axe.run(document, { resultTypes: ['violations'], preload: false }).then(({ violations }) => violations)`,
  )) as Finding[]
  return found
    .filter(({ impact }) => impact !== 'minor')
    .flatMap(({ id, nodes }) =>
      nodes.map(
        ({ target, html, failureSummary }) =>
          `${id}: ${target.join(' ')} ${html.slice(0, 200)} ${failureSummary.replaceAll(/\s+/g, ' ')}`,
      ),
    )
}

/** By how many pixels the page is wider than its window. */
export async function sidewaysBy(page: Page): Promise<number> {
  return (await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')) as number
}
