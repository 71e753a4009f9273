import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type LocalSite, openLocalSite } from '../support/local-site.ts'
import { describePage } from './support/describe-page.ts'
import { type OpenedPage, type OpenPageOptions, openPage, say } from './support/open-page.ts'

const examples = join(import.meta.dirname, '../../examples/tools')
const secret = 'sk-canary-4c1d77a02e'

/** A tool that needs a secret and is called by a webhook. */
const mail = {
  'manifest.json': JSON.stringify({
    name: 'mail',
    description: 'Reads the mail that comes in <img src=x onerror=alert(1)>',
    icon: '📬',
    trigger: { type: 'webhook', prompt: 'Mail:' },
    parameters: {},
    returns: {},
    sandbox: { network: 'none' },
    config_schema: {
      api_key: { description: 'Of the mail service', secret: true, required: true },
      days: { description: 'How far back', default: 3 },
    },
  }),
  'runner.sh': `echo '{"text":"no mail"}'`,
}

/** The page with tools of folders, each of them ready to be looked at. */
async function openTools(options: OpenPageOptions = {}): Promise<OpenedPage> {
  const opened = await openPage({ ...options, daemon: { env: { FAMILIAR_SANDBOX: 'embedded' } } })
  const { familiar } = opened
  const folder = join(familiar.home, 'tools')
  cpSync(join(examples, 'unit_converter'), join(folder, 'unit_converter'), { recursive: true })
  mkdirSync(join(folder, 'mail'), { recursive: true, mode: 0o700 })
  for (const [name, text] of Object.entries(mail)) writeFileSync(join(folder, 'mail', name), text)
  // Folders are watched; this is the word to look now, and to tell of what was found.
  await familiar.request('POST', '/api/v1/tools/unit_converter/reload', {})
  return opened
}

describePage('tools in the page', () => {
  it('PAGE-6 a tool is found, run manually with its card, tested, inspected and turned off', async () => {
    const { page, url } = await openTools()
    await page.goto(`${url}/toolbox`)
    await page.getByLabel('Search tools').fill('convert quantity')
    await page.getByRole('link', { name: /unit_converter/ }).click()
    await page.getByRole('tab', { name: 'Try it' }).click()
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByText('Required').first().waitFor()
    await page.getByLabel('value (required)').fill('10')
    await page.getByLabel('from (required)').fill('km')
    await page.getByLabel('to (required)').fill('mi')
    await page.getByRole('button', { name: 'JSON' }).click()
    expect(JSON.parse(await page.getByLabel('Input (JSON)').inputValue())).toEqual({
      value: 10,
      from: 'km',
      to: 'mi',
    })
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByText('in sandbox “embedded”').waitFor()
    await page.frameLocator('iframe').getByText('6.21371 mi').waitFor()

    await page.getByRole('tab', { name: 'Tests' }).click()
    await page.getByRole('button', { name: 'Run tests' }).click()
    await page.getByText(/^(\d+) of \1 passed$/).waitFor()

    await page.getByRole('tab', { name: 'Calls' }).click()
    await page.getByText('Manually').first().waitFor()

    await page.getByRole('button', { name: 'Turn off' }).click()
    await page.getByText('Off', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Ready', { exact: true }).waitFor()
    // The address holds the current place.
    await page.reload()
    await page.getByRole('tab', { name: 'Calls', selected: true }).waitFor()
  })

  it('PAGE-6 SEC-13 a form shows the settings of a tool; secrets can be set and are never shown', async () => {
    const { page, url, familiar } = await openTools()
    await page.goto(`${url}/toolbox/mail?tab=settings`)
    await page.getByText('<img src=x onerror=alert(1)>').waitFor()
    await page.getByLabel('api_key (required)').fill(secret)
    expect(await page.getByLabel('api_key (required)').getAttribute('type')).toBe('password')
    await page.getByLabel('days', { exact: true }).fill('7')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByPlaceholder('Set. Enter a new value to replace it.').waitFor()
    expect(await page.getByLabel('days', { exact: true }).inputValue()).toBe('7')
    const { config } = (await (await familiar.request('GET', '/api/v1/tools/mail/config')).json()) as { config: object }
    expect(config).toMatchObject({ api_key: '***', days: 7 })
    expect(await page.content()).not.toContain(secret)

    await page.getByRole('tab', { name: 'Runs' }).click()
    await page.getByRole('button', { name: 'Create secret' }).click()
    await page.getByRole('button', { name: 'Create' }).click()
    const made = await page.getByRole('dialog').locator('code').first().textContent()
    expect(made?.length).toBeGreaterThan(20)
    await page.getByRole('button', { name: 'Done' }).click()
    expect(await page.content()).not.toContain(made ?? '')
  })

  it('PAGE-6 SEC-4 an MCP server is shown in the page and approved on the machine itself', async () => {
    const toml = '[mcp.servers.files]\ncommand = "a-program-that-is-not-there"\n'
    const { page } = await openPage({ toml, path: '/toolbox?tab=servers' })
    await page.getByText('familiar mcp approve files').waitFor()
    await page.getByRole('button', { name: 'Reload' }).click()
    await page.getByText('Reloaded').waitFor()
    expect(await page.content()).not.toContain('a-program-that-is-not-there')
  })
})

describePage('results of tools in a conversation', () => {
  it('PAGE-6 each common tool shows its results', async () => {
    const site: LocalSite = await openLocalSite((_request, response) => {
      response.setHeader('content-type', 'text/html')
      response.end('<title>News of the day</title><p>It rains.')
    })
    const address = `http://127.0.0.1:${site.port}/news`
    const { page, fake } = await openTools({ toml: `[egress]\nallowed_hosts = ["127.0.0.1:${site.port}"]\n` })
    fake.reply({ toolCalls: [{ name: 'store_memory', input: { content: 'The spare key is with Ruth' } }] })
    fake.reply({
      toolCalls: [
        { name: 'recall_memory', input: { query: 'spare key' } },
        { name: 'find_tools', input: { query: 'convert units' } },
        { name: 'reason', input: { thought: '1. Look for the key\n2. Ask Ruth' } },
        { name: 'exec', input: { command: 'echo $((40+2)); echo oops >&2' } },
        { name: 'web_fetch', input: { url: address } },
        { name: 'schedule_message', input: { message: 'Water the plants', at: 'in 20 minutes' } },
      ],
    })
    fake.reply({ toolCalls: [{ name: 'unit_converter', input: { value: 10, from: 'km', to: 'mi' } }] })
    fake.reply({ text: 'All done.' })
    await say(page, 'Do everything')
    const log = page.getByRole('log')
    await log.getByText('All done.').waitFor()
    // The newest is in sight: what was said before is drawn when it is scrolled to.
    await page.setViewportSize({ width: 1180, height: 2_600 })
    await page.frameLocator('iframe').getByText('6.21371 mi').waitFor()
    const unfold = (name: RegExp) => log.getByRole('button', { name }).click()
    await unfold(/Searched memory/)
    await log
      .getByRole('list', { name: 'Memories' })
      .getByRole('link', { name: 'The spare key is with Ruth' })
      .waitFor()
    await unfold(/Searched tools/)
    await log.getByRole('list', { name: 'Tools' }).getByRole('link', { name: 'unit_converter' }).waitFor()
    await unfold(/Reasoned/)
    await log.getByRole('listitem').getByText('Ask Ruth').waitFor()
    await unfold(/Ran a command/)
    await log.getByText('42', { exact: true }).waitFor()
    await log.getByText('oops', { exact: true }).last().waitFor()
    await unfold(/Read a page/)
    await log.getByRole('link', { name: 'News of the day' }).waitFor()
    await log.getByText('It rains.', { exact: true }).waitFor()
    await unfold(/Scheduled/)
    await log.getByRole('link', { name: 'All schedules' }).waitFor()
    await site.close()
  })

  it('PAGE-6 PAGE-3 a search shows its results, and hostile titles as text', async () => {
    const results = [
      { title: 'Trains in <b>Flanders</b>', url: 'https://trains.example/flanders', content: 'Every half hour.' },
      { title: 'Evil" onmouseover="alert(1)', url: 'https://evil.example/', content: '[x](javascript:alert(1))' },
      { title: 'No address', url: 'javascript:alert(1)', content: 'Nothing.' },
    ]
    const site = await openLocalSite((_request, response) => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ results }))
    })
    const address = `http://127.0.0.1:${site.port}`
    const { page, fake } = await openPage({
      toml: `[egress]\nallowed_hosts = ["127.0.0.1:${site.port}"]\n[tools.web_search]\nprovider = "searxng"\nbase_url = "${address}"\n`,
    })
    fake.reply([{ toolCalls: [{ name: 'web_search', input: { query: 'trains in Flanders' } }] }, { text: 'There.' }])
    await say(page, 'Find trains')
    const log = page.getByRole('log')
    await log.getByText('There.').waitFor()
    await log.getByRole('button', { name: /trains in Flanders/ }).click()
    const found = log.getByRole('list', { name: 'Search results' })
    const link = found.getByRole('link', { name: /Trains in/ })
    expect(await link.getAttribute('href')).toBe('https://trains.example/flanders')
    expect(await link.getAttribute('rel')).toContain('noopener')
    await found.getByText('Every half hour.').waitFor()
    await found.getByRole('link', { name: 'Evil" onmouseover="alert(1)' }).waitFor()
    await found.getByText('[x](javascript:alert(1))').waitFor()
    expect(await page.locator('a[href^="javascript"], [onmouseover]').count()).toBe(0)
    await site.close()
  })

  it('PAGE-3 a call named like a property of every object is shown as any other', async () => {
    const { page, fake } = await openPage()
    fake.reply({ toolCalls: [{ name: 'constructor', input: {} }] })
    await say(page, 'Hello')
    await page.getByRole('log').getByRole('button', { name: 'constructor' }).click()
    await page.getByText(/There is no tool named constructor/).waitFor()
  })
})
