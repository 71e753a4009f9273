import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { en } from '../../web/src/strings/en.ts'
import { type ChosenLanguage, languages } from '../../web/src/strings/locale.ts'
import { pseudo } from '../../web/src/strings/pseudo.ts'
import { said, toolOf } from '../support/scripted-familiar.ts'
import { describePage } from './support/describe-page.ts'
import { detailPaths } from './support/detail-paths.ts'
import { findCutText } from './support/find-cut-text.ts'
import { findFaults } from './support/find-faults.ts'
import { openPage, say } from './support/open-page.ts'
import { fillWithSamples, sampleOptions } from './support/sample-data.ts'
import { screenPaths, settle, walkScreen } from './support/walk-screens.ts'

const strange = pseudo(en)
const desktop = { width: 1280, height: 800 }
const phone = { width: 390, height: 844 }

/** Of the message that contains these words. */
const directionOf = (page: Page, words: string) =>
  page.evaluate(
    `getComputedStyle([...document.querySelectorAll('.prose')].find(({ textContent }) => textContent.includes('${words}'))).direction`,
  )

/** As the language field of the settings keeps it. */
async function speak(page: Page, language: ChosenLanguage): Promise<void> {
  await page.evaluate(`localStorage.setItem('familiar.language', '${language}')`)
  await page.reload()
  await settle(page)
}

/** Looks at both sizes, in light and dark. Each fault is listed where it is first seen. */
function lookAtAllSizes(page: Page) {
  const faults: Record<string, string> = {}
  async function look(name: string): Promise<void> {
    for (const [size, viewport] of Object.entries({ desktop, phone })) {
      await page.setViewportSize(viewport)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
        for (const fault of await findCutText(page)) faults[fault] ??= `${name}, ${size}, ${colorScheme}`
      }
    }
    await page.setViewportSize(desktop)
  }
  return { faults, look }
}

describePage('the page in other languages', () => {
  it('PAGE-7b no text is cut on any screen in a language with longer words', async () => {
    const { page, url, familiar, fake, newContext } = await openPage({
      ...sampleOptions,
      context: { viewport: desktop },
    })
    const samples = await fillWithSamples(familiar, fake)
    await speak(page, 'pseudo')
    const { faults, look } = lookAtAllSizes(page)
    await look('a first look')
    await page.goto(`${url}/talk/${samples.session}`)
    await page.getByRole('article').waitFor()
    await look('a conversation')
    for (const path of [...(await screenPaths(page)), ...detailPaths(samples)]) {
      for await (const name of walkScreen(page, url, path)) await look(name)
    }
    const out = await (await newContext()).newPage()
    await out.goto(`${url}?lang=pseudo`)
    await out.getByRole('button', { name: strange.shell.signIn }).waitFor()
    const signingIn = lookAtAllSizes(out)
    await signingIn.look('signing in')
    expect({ ...faults, ...signingIn.faults }).toEqual({})
  }, 600_000)

  it('PAGE-7b no text is cut in dialogs, menus, approvals and the search', async () => {
    const post = toolOf('post_letter', async () => said('Posted.'), {
      reach: () => ({ kind: 'send', destination: 'https://mail.example' }),
    })
    const { page, url, familiar, fake } = await openPage({
      ...sampleOptions,
      daemon: { ...sampleOptions.daemon, extraTools: [...sampleOptions.daemon.extraTools, post] },
      context: { viewport: desktop },
    })
    const samples = await fillWithSamples(familiar, fake)
    await speak(page, 'pseudo')
    const { faults, look } = lookAtAllSizes(page)
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    const close = async () => {
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').or(page.getByRole('menu')).first().waitFor({ state: 'detached' })
    }

    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').getByRole('option').first().waitFor()
    await look('the palette')
    await close()

    await page.goto(`${url}/talk/${samples.session}`)
    await page.getByRole('article').waitFor()
    await button(strange.chat.more).click()
    await page.getByRole('menu').waitFor()
    await look('the menu of a conversation')
    await close()

    fake.reply([{ toolCalls: [{ name: 'post_letter', input: { to: 'Anna' } }] }, { text: 'It waits.' }])
    await page.getByRole('combobox', { name: strange.common.message }).fill('Post it')
    await button(strange.common.send).click()
    await button(strange.chat.allowOnce).waitFor()
    await look('an approval')

    await page.goto(`${url}/settings/browsers`)
    await button(strange.settings.signOutEverywhere).click()
    await page.getByRole('dialog').waitFor()
    await look('signing out everywhere')
    await close()

    await page.goto(`${url}/schedules/${samples.schedule}`)
    await button(strange.schedules.cancelSchedule).click()
    await page.getByRole('dialog').waitFor()
    await look('canceling a schedule')
    expect(faults).toEqual({})
  }, 300_000)

  it('PAGE-7b the welcome of a new home is not cut', async () => {
    const { page } = await openPage({ model: 'none', context: { viewport: desktop } })
    await speak(page, 'pseudo')
    await page.getByRole('radio').first().waitFor()
    const { faults, look } = lookAtAllSizes(page)
    await look('the welcome')
    expect(faults).toEqual({})
  })

  it('PAGE-7b the check finds text that is cut', async () => {
    const { page } = await openPage()
    expect(await findCutText(page)).toEqual([])
    await page.evaluate(`(() => {
      const add = (tag, text, overflow) => {
        const one = document.querySelector('main').appendChild(document.createElement(tag))
        one.textContent = text
        Object.assign(one.style, { width: '2rem', flexShrink: 0, whiteSpace: 'nowrap', overflow })
      }
      add('div', 'A text that is cut', 'hidden')
      add('button', 'A wide button', 'visible')
    })()`)
    expect(await findCutText(page)).toEqual([
      expect.stringContaining('cut: “A text'),
      expect.stringContaining('outside of its box: “A wide'),
      expect.stringContaining('wider than its box: “A wide'),
    ])
  })

  it.each(['light', 'dark'] as const)(
    'PAGE-4 PAGE-7b axe finds nothing serious in Arabic, %s',
    async (colorScheme) => {
      const { page, url, familiar, fake } = await openPage({
        ...sampleOptions,
        context: { colorScheme, reducedMotion: 'reduce' },
      })
      const { session } = await fillWithSamples(familiar, fake)
      await speak(page, 'ar')
      expect(await page.evaluate('[document.documentElement.lang, document.documentElement.dir]')).toEqual([
        'ar',
        'rtl',
      ])
      const faults: Record<string, string[]> = {}
      const look = async (name: string) => {
        const found = await findFaults(page)
        if (found.length > 0) faults[name] = found
      }
      await page.goto(`${url}/talk/${session}`)
      await page.getByRole('article').waitFor()
      await look('a conversation')
      for (const path of await screenPaths(page)) {
        await page.goto(url + path)
        await settle(page)
        await look(path)
      }
      expect(faults).toEqual({})
    },
    300_000,
  )

  it('PAGE-7a the browser chooses the language, the settings change it, and only its catalog is downloaded', async () => {
    const { page, url, fake } = await openPage({ context: { locale: 'de-AT' } })
    await expect.poll(() => page.evaluate('document.documentElement.lang')).toBe('de')
    await page.getByRole('button', { name: 'Senden' }).waitFor()
    const catalogs = (await page.evaluate(
      `performance.getEntriesByType('resource').map(({ name }) => /assets\\/(${Object.keys(languages).join('|')})-[\\w-]+\\.js$/.exec(name)?.[1]).filter(Boolean)`,
    )) as string[]
    expect(catalogs).toEqual(['de'])

    await page.goto(`${url}/settings`)
    await page.getByLabel('Sprache', { exact: true }).selectOption('fr')
    await page.getByRole('heading', { name: 'Paramètres' }).waitFor()
    await page.goto(url)
    expect(await page.evaluate('document.documentElement.lang')).toBe('fr')
    await page.goto(`${url}?lang=en`)
    fake.reply({ text: 'Hello.' })
    await say(page, 'Hello')
    await page.getByRole('article').getByText('Hello.').waitFor()
  })

  it('PAGE-7b each message has the direction of its own text', async () => {
    const { page, fake } = await openPage()
    fake.reply({ text: 'مرحبا بك في المحادثة.' })
    await say(page, 'Say hello in Arabic')
    await page.getByRole('article').getByText('مرحبا').waitFor()
    expect(await directionOf(page, 'مرحبا')).toBe('rtl')
    expect(await directionOf(page, 'Say hello in Arabic')).toBe('ltr')
  })
})
