import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { ModelRequest } from '../support/fake-model/recorded-request.ts'
import type { Step } from '../support/fake-model/step.ts'
import { openLocalSite } from '../support/local-site.ts'
import type { RunningFamiliar } from '../support/running-familiar.ts'
import { greeterFiles, greeterManifest } from '../support/served-capabilities.ts'
import { answerWeather, isBuilder, respondAsBuilder, weatherKey } from '../support/weather-build.ts'
import { describePage } from './support/describe-page.ts'
import { findFaults } from './support/find-faults.ts'
import { openPage, say } from './support/open-page.ts'

const wanted = { name: 'weather_lookup', description: 'Look up the weather of a city by its name.' }
const daemon = { env: { FAMILIAR_SANDBOX: 'embedded' } }

/** The one that speaks: asks for what is missing. */
function respondAsSpeaker({ messages, lastUserText }: ModelRequest): Step {
  if (!lastUserText.includes('weather')) return { text: 'Hello.' }
  const asked = messages.findLastIndex(({ role, text }) => role === 'user' && text !== '')
  const round = messages.slice(asked + 1).filter(({ role }) => role === 'assistant').length
  const request: Step = { toolCalls: [{ name: 'request_capability', input: wanted }] }
  return [request][round] ?? { text: 'I am building it for you.' }
}

async function register(familiar: RunningFamiliar, folder: string, files: Record<string, string>): Promise<void> {
  const directory = join(familiar.home, folder)
  mkdirSync(directory, { mode: 0o700 })
  for (const [path, text] of Object.entries(files)) writeFileSync(join(directory, path), text)
  const response = await familiar.request('POST', '/api/v1/local/capabilities/register', { directory })
  expect(await response.json()).toMatchObject({ ok: true, problems: [] })
}

describePage('capabilities in the page', () => {
  it('PAGE-6 CAP-7 a build is shown in its conversation and on its own screen, and answered by button, form and masked field', async () => {
    // Not 127.0.0.1, which inside is the sandbox itself.
    const site = await openLocalSite(answerWeather, '127.0.0.2')
    const host = `127.0.0.2:${site.port}`
    const { page, url } = await openPage({
      toml: `[egress]\nallowed_hosts = ["${host}"]\n`,
      daemon,
      script: (request) => (isBuilder(request) ? respondAsBuilder(request, host) : respondAsSpeaker(request)),
    })
    await say(page, 'What is the weather in Austin?')
    const log = page.getByRole('log')
    await log.getByText('I am building it for you.').waitFor()
    await log
      .getByText(/^main\.py is written/)
      .first()
      .waitFor()
    await log.getByText('A try failed.').first().waitFor()
    // The address, after text from outside was read: asked here, and answered on the screen of the build.
    await log.getByRole('button', { name: 'Yes', exact: true }).waitFor()
    await log.getByRole('link', { name: 'Open build log' }).click()
    await page.getByRole('button', { name: 'Yes', exact: true }).click()
    await page.goBack()
    await log.getByRole('button', { name: 'Celsius', exact: true }).click()

    // In the conversation itself, masked; what is typed there is neither kept nor sent until it is given.
    const field = page.getByLabel('Secret WEATHER_KEY')
    await field.fill('half of it')
    expect(await field.getAttribute('type')).toBe('password')
    // A reload in the middle misses nothing, and asks again, there and beside it.
    await page.reload()
    await log.getByText('You: Celsius').waitFor()
    await log.getByRole('link', { name: 'Open build log' }).click()
    await page.getByRole('list', { name: 'Build log' }).waitFor()
    expect(await field.inputValue()).toBe('')
    await page.goBack()
    await log.getByRole('form', { name: 'Secret needed' }).waitFor()
    await field.fill(weatherKey)
    await log.getByRole('button', { name: 'Save' }).click()
    await field.waitFor({ state: 'detached' })
    expect(await page.content()).not.toContain(weatherKey)
    await log.getByRole('link', { name: 'Open build log' }).click()
    await page.getByRole('list', { name: 'Build log' }).getByText('weather_lookup is ready').waitFor()
    expect(await page.content()).not.toContain(weatherKey)
    // Its end is announced on every screen, in a live region.
    const news = page.locator('[aria-live=polite]', { hasText: '“weather_lookup” is ready to use' })
    await news.getByRole('link', { name: 'Show' }).click()
    await page.waitForURL('**/capabilities/weather_lookup')

    await page.goto(`${url}/capabilities/weather_lookup?tab=run`)
    await page.getByLabel('city (required)').fill('Austin')
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByText('21 °C in Austin, from a fresh sandbox').waitFor()

    await page.getByRole('tab', { name: 'About' }).click()
    await page.getByText(`Network access: ${host}`).waitFor()
    await field.fill(`${weatherKey}-of-another-year`)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('WEATHER_KEY saved').waitFor()
    expect(await field.inputValue()).toBe('')
    await site.close()
  })

  it('PAGE-6 CAP-8 code, permissions, versions and diffs are shown, and an older version is used again', async () => {
    const { page, url, familiar } = await openPage({ daemon })
    await register(familiar, 'one', greeterFiles({ 'RUN.md': '# Greeter\n\nCall it with **a name**.' }))
    const manifest = greeterManifest({ storage: true })
    const main = 'def run(args):\n    # <script>alert(1)</script>\n    return "Hello, " + args["name"] + "!"\n'
    await register(familiar, 'two', greeterFiles({ 'main.py': main, 'manifest.json': manifest }))

    await page.goto(`${url}/capabilities`)
    await page.getByLabel('Search built tools').fill('greets somebody')
    await page.getByRole('link', { name: /greeter/ }).click()
    // Its RUN.md may say the same.
    await page.getByText('No network access').first().waitFor()
    await page.getByText('Keeps data between calls').first().waitFor()
    await page.getByText('No secrets').first().waitFor()

    await page.getByRole('tab', { name: 'Code' }).click()
    await page.getByText('<script>alert(1)</script>').waitFor()
    await page.getByLabel('Version', { exact: true }).selectOption('1')
    await page.getByRole('button', { name: 'RUN.md' }).click()
    await page.getByText('Call it with a name.').waitFor()

    await page.getByRole('tab', { name: 'Versions' }).click()
    await page.getByRole('button', { name: 'Compare' }).click()
    await page.getByText('+    # <script>alert(1)</script>').waitFor()
    await page.getByRole('button', { name: 'Use this version' }).click()
    await page.getByRole('button', { name: 'Use this version' }).click()
    await page.getByText('Version 1 is now in use').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Version 2 is now in use').waitFor()

    await page.getByRole('button', { name: 'Turn off' }).click()
    await page.getByText('Off', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Turn on' }).click()
    await page.getByText('Ready', { exact: true }).waitFor()
  })

  it('PAGE-6 CAP-8 a built tool is repaired from its screen, and stays in use until the new version passes', async () => {
    const main = 'def run(args):\n    return "Hello, " + args["name"] + "!"\n# mended\n'
    const steps: Step[] = [
      { toolCalls: [{ name: 'report_progress', input: { message: 'Looking at what is wrong.' } }] },
      { toolCalls: [{ name: 'ask_user', input: { question: 'Shall it stay polite? (yes or no)' } }] },
      {
        toolCalls: [
          { name: 'write_file', input: { path: 'main.py', content: main } },
          { name: 'register_capability', input: {} },
        ],
      },
    ]
    const { page, familiar, url } = await openPage({
      daemon,
      script(request) {
        if (!isBuilder(request)) return { text: 'Hello.' }
        return steps[request.messages.filter(({ role }) => role === 'assistant').length] ?? { text: 'It is done.' }
      },
    })
    await register(familiar, 'one', greeterFiles())
    await page.goto(`${url}/capabilities/greeter`)
    await page.getByRole('button', { name: 'Repair' }).click()
    const dialog = page.getByRole('dialog', { name: 'Repair' })
    await dialog.getByLabel('What is wrong?').fill('It is <b>too</b> polite')
    expect(await findFaults(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Start' }).click()
    const story = page.getByRole('list', { name: 'Build log' })
    await story.getByText('Looking at what is wrong.').waitFor()
    await page.getByRole('button', { name: 'yes', exact: true }).or(page.getByLabel('Your answer')).first().waitFor()
    // The one that is there still answers.
    const run = await familiar.request('POST', '/api/v1/capabilities/greeter/run', { args: { name: 'Ada' } })
    expect(await run.json()).toMatchObject({ ok: true, value: 'Hello, Ada!' })
    await page.getByLabel('Your answer').fill('yes')
    await page.getByRole('button', { name: 'Answer', exact: true }).click()
    await story.getByText('The capability greeter is repaired').waitFor()
    await page.goto(`${url}/capabilities/greeter?tab=versions`)
    await page.getByText('Version 2', { exact: false }).first().waitFor()
    await page.getByRole('tab', { name: 'Code' }).click()
    await page.getByText('# mended').waitFor()
  })

  it('PAGE-6 the empty list says how to get a built tool', async () => {
    const { page } = await openPage({ path: '/capabilities' })
    await page.getByText('No built tools yet').waitFor()
    await page.getByRole('tab', { name: 'Builds' }).click()
    await page.getByText('No builds yet').waitFor()
  })
})
