import type { Page } from 'playwright-core'

/** The addresses of every screen that the list at the side leads to. */
export async function screenPaths(page: Page): Promise<string[]> {
  const paths = (await page.evaluate(
    `[...document.querySelectorAll('nav[aria-label="Familiar"] a')].map((link) => link.getAttribute('href'))`,
  )) as string[]
  return [...new Set(paths)].filter((path) => path !== '/' && !path.startsWith('/talk/'))
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
