import type { Page } from 'playwright-core'

const pathsIn = async (page: Page, links: string) =>
  (await page.evaluate(
    `[...document.querySelectorAll(${JSON.stringify(links)})].map((link) => link.getAttribute('href'))`,
  )) as string[]

/** The addresses of every screen: of the destinations in the list at the side, and of their sections. */
export async function screenPaths(page: Page): Promise<string[]> {
  const { origin, href } = new URL(page.url())
  const destinations = await pathsIn(page, 'nav[aria-label="Familiar"] > ul a')
  const paths = new Set<string>()
  for (const path of destinations.filter((one) => one !== '/')) {
    await page.goto(origin + path)
    await settle(page)
    for (const section of [path, ...(await pathsIn(page, 'nav[data-sections] a'))]) paths.add(section)
  }
  await page.goto(href)
  await page.getByRole('main').waitFor()
  return [...paths]
}

/** Goes to a screen and, one after the other, to each of its tabs. The names tell them apart. */
export async function* walkScreen(page: Page, url: string, path: string): AsyncGenerator<string> {
  await page.goto(url + path)
  await settle(page)
  const tabs = page.getByRole('main').getByRole('tab')
  const count = await tabs.count()
  if (count === 0) yield path
  for (let index = 0; index < count; index += 1) {
    await tabs.nth(index).click()
    await settle(page)
    yield `${path} › ${(await tabs.nth(index).textContent())?.trim()}`
  }
}

/** Waits until the requested content is there. */
export async function settle(page: Page): Promise<void> {
  await page.getByRole('main').waitFor()
  await page.getByText('Loading…').waitFor({ state: 'detached' })
  // Some screens always breathe: what they show runs.
  await page
    .locator('main .breathing')
    .first()
    .waitFor({ state: 'detached', timeout: 5_000 })
    .catch(() => undefined)
  // Two frames: what came in is drawn.
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
}
