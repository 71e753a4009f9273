import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ModelRequest } from '../support/fake-model/recorded-request.ts'
import { type FakeModel, startFakeModel } from '../support/fake-model/start-fake-model.ts'
import type { Step } from '../support/fake-model/step.ts'
import { isBuilder } from '../support/weather-build.ts'
import { type BuildCrashPoint, type BuildRemains, playBuild, writeBuildHome } from './build-scene.ts'
import { chosen, chosenPassings } from './chosen-passings.ts'
import { createSceneDatabase, type SceneDatabase } from './scene-database.ts'
import { inTwoLanes } from './two-lanes.ts'

const minutes = 60_000

let folder: string
let fake: FakeModel

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'familiar-build-crash-'))
  fake = await startFakeModel({ keepRequests: false })
  fake.respondWith((request) => (isBuilder(request) ? respondAsBuilder(request) : respondAsSpeaker(request)))
})
afterAll(async () => {
  await fake.close()
  rmSync(folder, { recursive: true, force: true })
})

const main = 'def run(args, context):\n    return "Good day, %s" % args["who"] if context.secrets.SEAL else ""\n'
const manifest = {
  name: 'greeter',
  description: 'Greets somebody.',
  input_schema: { type: 'object' },
  secrets: [{ name: 'SEAL', description: 'A seal' }],
}
const examples = [{ input: { who: 'Ada' }, expect: { equals: 'Good day, Ada' } }]

/** Its next step depends on how often it has spoken: a restarted daemon continues there. */
function respondAsBuilder({ messages }: ModelRequest): Step {
  if (messages[0]?.text.includes('impossible')) return { text: 'That cannot be done.' }
  const file = (path: string, content: string) => ({ name: 'write_file', input: { path, content } })
  const steps: Step[] = [
    {
      toolCalls: [
        file('main.py', main),
        file('manifest.json', JSON.stringify(manifest)),
        file('examples.json', JSON.stringify(examples)),
      ],
    },
    {
      toolCalls: [
        { name: 'report_progress', input: { message: 'Asking.' } },
        { name: 'ask_user', input: { question: 'How shall it greet?' } },
      ],
    },
    { toolCalls: [{ name: 'request_secret', input: { name: 'SEAL', description: 'The seal' } }] },
    { toolCalls: [{ name: 'run_code', input: { code: 'import main' } }] },
    { toolCalls: [{ name: 'register_capability', input: {} }] },
  ]
  return steps[messages.filter(({ role }) => role === 'assistant').length] ?? { text: 'It is done.' }
}

function respondAsSpeaker({ messages, toolResults, lastUserText }: ModelRequest): Step {
  if (lastUserText.includes('greet Ada')) {
    if (toolResults.length > 0) return { text: toolResults.map(({ text }) => text).join() }
    return { toolCalls: [{ name: 'cap_greeter', input: { who: 'Ada' } }] }
  }
  if (messages.some(({ role }) => role === 'assistant')) return { text: 'It is being built.' }
  const description = lastUserText.includes('impossible') ? 'Does the impossible.' : 'Greets somebody.'
  return { toolCalls: [{ name: 'request_capability', input: { name: 'greeter', description } }] }
}

interface Played extends BuildRemains {
  home: string
  database: SceneDatabase
}

/** In a home of its own, which another play may have left. */
async function play(
  crashAt: BuildCrashPoint | undefined,
  more: { message?: string; stops?: boolean; from?: Played } = {},
): Promise<Played> {
  const { message = 'a greeter', stops = false, from } = more
  const home = mkdtempSync(join(folder, 'home-'))
  if (from === undefined) writeBuildHome(home, fake.url)
  else cpSync(from.home, home, { recursive: true })
  const database = await (from ? from.database.copy(home) : createSceneDatabase(home))
  const signal = AbortSignal.timeout(1.5 * minutes)
  const remains = await playBuild({ home, database, message, stops, signal, ...(crashAt && { crashAt }) })
  return { ...remains, home, database }
}

const registered = {
  crashes: 1,
  build: 'complete',
  capability: 'active 1',
  versions: 1,
  directories: [{ path: 'v1', isWhole: true }],
  openMessages: 0,
}
const passings = {
  build_written: 1,
  build_begun: 1,
  file_written: 1,
  question_written: 2,
  answer_written: 2,
  secret_sealed: 1,
  trying_out: 1,
  registering: 1,
  registered: 1,
} as const

describe('CAP-2 CAP-4 killed in the middle of a build', () => {
  it(
    'CAP-4 at each of its steps: it continues, registers once, and leaves nothing half done',
    async () => {
      const points = Object.entries(passings).flatMap(([step, count]) =>
        chosenPassings(count).map((passing) => ({ step: step as keyof typeof passings, passing })),
      )
      const results = await inTwoLanes(chosen(points), async (point) => ({ point, ...(await play(point)) }))
      for (const { point, events, home: _home, database: _database, reply: _reply, ...remains } of results) {
        expect({ point, ...remains }).toEqual({ point, ...registered })
        const ends = events.filter((type) => type === 'complete' || type === 'error')
        expect({ point, ends, last: events.at(-1) }).toEqual({ point, ends: ['complete'], last: 'complete' })
        const asked = events.filter((type) => type === 'question' || type === 'secret_request')
        expect({ point, asked }).toEqual({ point, asked: ['question', 'secret_request'] })
      }
    },
    5 * minutes,
  )

  it(
    'CAP-2 when the Builder gives up, or the user stops it: it has ended, and stays so',
    async () => {
      const message = 'something impossible'
      const plays = [
        () => play({ step: 'end_written', passing: 1 }, { message }),
        // The turn that speaks and that of the Builder: whichever ends first.
        () => play({ step: 'turn_ended', passing: 1 }, { message }),
        () => play({ step: 'turn_ended', passing: 2 }, { message }),
        () => play({ step: 'end_written', passing: 1 }, { stops: true }),
      ]
      const results = await inTwoLanes(plays, (next) => next())
      const nothing = { crashes: 1, capability: 'failed null', versions: 0, directories: [], openMessages: 0 }
      for (const [
        index,
        { events, home: _home, database: _database, reply: _reply, ...remains },
      ] of results.entries()) {
        expect(remains).toEqual({ ...nothing, build: index === 3 ? 'stopped' : 'failed' })
        expect(events.filter((type) => type === 'complete' || type === 'error')).toEqual(['error'])
        expect(events.at(-1)).toBe('error')
      }
    },
    5 * minutes,
  )

  it(
    'CAP-5 in the middle of a call: it is made again, by the version that was there',
    async () => {
      const from = await play(undefined)
      expect(from).toMatchObject({ ...registered, crashes: 0 })
      const steps = ['tool_starting', 'tool_ran', 'tool_recorded'] as const
      const results = await inTwoLanes(steps, (step) => play({ step, passing: 1 }, { message: 'greet Ada', from }))
      for (const called of results)
        expect(called).toMatchObject({ ...registered, reply: expect.stringContaining('Good day, Ada') })
    },
    5 * minutes,
  )
})
