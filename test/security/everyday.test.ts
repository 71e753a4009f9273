import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import type { ChatReply, MessageRequestInput } from '../../src/protocol/api.ts'
import type { BuildQuestionReply, BuildReply } from '../../src/protocol/custom-tools.ts'
import type { ApprovalReply } from '../../src/protocol/permissions.ts'
import { waitsForApproval } from '../../src/security/approval-texts.ts'
import { hasBubblewrap } from '../support/embedded-sandbox.ts'
import type { ModelRequest } from '../support/fake-model/recorded-request.ts'
import { startFakeModel } from '../support/fake-model/start-fake-model.ts'
import type { Step } from '../support/fake-model/step.ts'
import { openLocalSite } from '../support/local-site.ts'
import { makePdf } from '../support/made-pdf.ts'
import { startFamiliar } from '../support/running-familiar.ts'
import { answerWeather, isBuilder } from '../support/weather-build.ts'
import { everydayTasks, respondAsEverydayBuilder, type Task } from './everyday-script.ts'

const minute = 60_000
const maxQuestions = 5
const closers: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** One call of the model, or a question of a build. */
interface Row {
  turn: number
  tool: string
  destination: string
  /** Why it needed no question; undefined: the user was asked. */
  because: string | undefined
}

/** A whole daemon with its sandbox, a model behind a provider's wire, and servers for pages, search and weather. */
async function openDay() {
  const news = await openLocalSite(({ url }, response) => {
    const more = url === '/3' ? `<p>More at http://127.0.0.1:${news.port}/3/more</p>` : ''
    response.setHeader('content-type', 'text/html').end(`<title>${url}</title><p>Page ${url} of the news.</p>${more}`)
  })
  const wiki = await openLocalSite(({ url }, response) => {
    response.setHeader('content-type', 'text/html').end(`<title>${url}</title><p>An article on ${url}.</p>`)
  })
  const search = await openLocalSite((_request, response) => {
    const results = [1, 2, 3].map((at) => ({ title: `Find ${at}`, url: `${news.origin}/${at}`, content: 'Of today.' }))
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ results }))
  })
  // Not 127.0.0.1, which inside is the sandbox itself.
  const weather = await openLocalSite(answerWeather, '127.0.0.2')
  const fake = await startFakeModel()
  closers.push(...[news, wiki, search, weather, fake].map(({ close }) => close))
  const host = `127.0.0.2:${weather.port}`
  const familiar = await startFamiliar({
    env: { FAMILIAR_SANDBOX: 'embedded' },
    toml: `[egress]
allowed_hosts = ["${host}", "127.0.0.1:${news.port}", "127.0.0.1:${wiki.port}", "127.0.0.1:${search.port}"]
[tools.web_search]
provider = "searxng"
base_url = "${search.origin}"
`,
    providers: {
      fake: `type = "openai-compatible"\nbase_url = "${fake.url}/v1"\napi_key_env = "FAKE_KEY"\n[models.main]\nmodel = "fake-model"\n`,
    },
  })
  closers.push(familiar.close)
  execFileSync('git', ['init', '--quiet', join(familiar.home, 'workspace')])

  const rows: Row[] = []
  const failures: string[] = []
  let task: Task | undefined
  let turn = 0
  let made = 0

  fake.respondWith((request) => {
    if (isBuilder(request)) return respondAsEverydayBuilder(request, host)
    return request.tools.includes('file_write') ? respondAsSpeaker(request) : { text: 'Nothing.' }
  })

  /** The next call of the task; one that waited for the user is made again. */
  function respondAsSpeaker(request: ModelRequest): Step {
    made += request.toolResults.filter(({ text }) => text !== waitsForApproval).length
    const next = task?.calls[made]
    if (!next) return { text: `Done with ${turn}.` }
    return { toolCalls: [typeof next === 'function' ? next(request) : next] }
  }

  async function get<Reply>(path: string): Promise<Reply> {
    return (await (await familiar.request('GET', path)).json()) as Reply
  }

  /** Answers each question with `always`, as a user would. */
  async function say(text: string, more: Partial<MessageRequestInput>): Promise<ChatReply> {
    const { session = 'main' } = more
    let reply = await familiar.chat(text, more)
    for (;;) {
      const { approvals } = await get<{ approvals: ApprovalReply[] }>('/api/v1/approvals')
      for (const { name, input, is_error } of reply.tool_calls) {
        const asked = approvals.find((one) => one.tool === name)
        if (asked) rows.push({ turn, tool: name, destination: asked.covers, because: undefined })
        else if (is_error) failures.push(`turn ${turn}: ${name} ${JSON.stringify(input)}`)
        else rows.push({ turn, tool: name, ...whyNotAsked(name, input as Record<string, string>, rows) })
      }
      if (reply.outcome !== 'question') return reply
      reply = await familiar.chat('always', { session })
    }
  }

  async function finishBuild(name: string): Promise<void> {
    const answered = new Set<string>()
    await expect
      .poll(
        async () => {
          const { questions } = await get<{ questions: BuildQuestionReply[] }>('/api/v1/builds/questions')
          for (const { id, question } of questions) {
            if (answered.has(id)) continue
            answered.add(id)
            const to = /contact (\S+)\?/.exec(question)?.[1] ?? question
            rows.push({ turn, tool: name, destination: `${name} → ${to}`, because: undefined })
            await familiar.request('POST', `/api/v1/builds/questions/${encodeURIComponent(id)}`, { answer: 'yes' })
          }
          const { builds } = await get<{ builds: BuildReply[] }>('/api/v1/builds')
          const build = builds.find((one) => one.name === name)
          if (build?.state === 'failed') throw new Error(`${name} was not built: ${build.error}`)
          return build?.state
        },
        { timeout: minute, interval: 200 },
      )
      .toBe('complete')
  }

  return {
    tasks: everydayTasks({ news: news.origin, wiki: wiki.origin }),
    rows,
    failures,
    fake,
    wiki,
    workspaceFile: (path: string) => readFileSync(join(familiar.home, 'workspace', path), 'utf8'),
    async perform(next: Task, number: number): Promise<ChatReply> {
      task = next
      turn = number
      made = 0
      const attachments = next.pdf && [
        {
          name: 'bill.pdf',
          media_type: 'application/pdf',
          data: Buffer.from(makePdf([next.pdf])).toString('base64'),
        },
      ]
      const reply = await say(next.say, { session: next.session, ...(attachments && { attachments }) })
      if (next.builds !== undefined) await finishBuild(next.builds)
      return reply
    },
  }
}

const groups: [RegExp, string][] = [
  [/^(?:recall_memory|file_read|list_scheduled|lookup_capability|calculate)$/, 'it only reads'],
  [/^(?:store_memory|file_write|file_edit)$/, 'the user can undo it'],
  [/^exec$/, 'in the sandbox, and the user can undo it'],
  [/^web_search$/, 'the search service is configured'],
  [/^web_fetch$/, 'the address stands in the conversation'],
  [/^cap_weather_lookup$/, 'the host was allowed while it was built'],
  [/^cap_to_roman$/, 'it has no network'],
]

/** The destination of a call that was made without a question, and the rule that allows it. */
function whyNotAsked(tool: string, input: Record<string, string>, before: readonly Row[]) {
  const { url, name, command, host } = input
  const places: Record<string, string | undefined> = {
    web_fetch: url && new URL(url).origin,
    request_capability: `build:${name}`,
    schedule_message: 'schedule',
    exec: host ? command : undefined,
  }
  const destination = `${tool} → ${places[tool] ?? 'here'}`
  const isAllowed = before.some((row) => row.because === undefined && row.destination === destination)
  const [, rule] = groups.find(([pattern]) => pattern.test(tool)) ?? []
  return { destination, because: isAllowed ? 'the user said always' : (rule ?? 'nothing from outside in sight') }
}

function tableOf(rows: readonly Row[]): string {
  const line = ({ turn, tool, destination, because }: Row) =>
    [String(turn).padStart(3), tool.padEnd(20), (because ?? 'ASKED').padEnd(40), destination].join('  ')
  return rows.map(line).join('\n')
}

it.skipIf(!hasBubblewrap)(
  'SEC-6e a day of 60 tasks asks at most five questions, none of them twice',
  async () => {
    const day = await openDay()
    expect(day.tasks).toHaveLength(60)
    const outcomes: string[] = []
    for (const [at, task] of day.tasks.entries()) {
      const { outcome, reply } = await day.perform(task, at + 1)
      outcomes.push(`${outcome}: ${reply}`)
    }
    const asked = day.rows.filter(({ because }) => because === undefined).map(({ destination }) => destination)
    console.info(`${tableOf(day.rows)}\n${asked.length} questions in ${outcomes.length} tasks`)
    expect(day.failures).toEqual([])
    expect(outcomes).toEqual(day.tasks.map((_, at) => `completed: Done with ${at + 1}.`))
    expect(asked.length).toBeLessThanOrEqual(maxQuestions)
    expect(new Set(asked).size).toBe(asked.length)
    // The tasks were done: the calls arrived where they should.
    expect(day.rows.filter(({ tool }) => tool === 'cap_weather_lookup')).toHaveLength(5)
    expect(day.rows.filter(({ tool }) => tool === 'cap_to_roman')).toHaveLength(5)
    expect(day.wiki.requests.map(({ url }) => url)).toEqual(['/wiki/Invoice', '/wiki/Receipt', '/wiki/VAT'])
    expect(day.workspaceFile('table.csv')).toBe('Rent,950\nFood,300\nTrain,49\n')
    expect(day.workspaceFile('drafts/ruth.md')).toContain('Hello Ruth')
    expect(day.fake.rejections()).toEqual([])
  },
  10 * minute,
)
