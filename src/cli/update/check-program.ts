import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import { runTool } from './run-tool.ts'

interface Failed {
  ok: false
  problem: string
}

export type Health = { ok: true } | Failed

interface Checked {
  /** The program's `bin/familiar`. */
  command: string
  home: string
  env: Readonly<Record<string, string | undefined>>
  signal: AbortSignal
}

/** A minute for each step: by then a version that is not healthy is given up. */
const ordinaryMs = 60_000
const longestFetchMs = 600_000

const doctorSchema = z.object({ findings: z.array(z.object({ check: z.string(), state: z.string() })) })
const statusSchema = z.object({ version: z.string() })
const sendSchema = z.object({ reply: z.string() })

/** Whether a version starts on a home, brings its database up to date and says that it is the expected one. */
export async function answersStatus(program: Checked, version: string): Promise<Health> {
  const answer = await familiar(program, ['status'])
  if (!answer.ok) return { ok: false, problem: `familiar status: ${answer.message}` }
  const status = parseJson(answer.text, statusSchema)
  if (!status.ok) return { ok: false, problem: 'familiar status: its answer cannot be read' }
  if (status.value.version === version) return { ok: true }
  return { ok: false, problem: `familiar status: it says that it is ${status.value.version}` }
}

/** Whether a version answers a message, without any model and on a home of its own. */
export async function answersMessage(program: Checked): Promise<Health> {
  const answer = await familiar(program, ['send', '--message', 'Remember that this is a try.'])
  if (!answer.ok) return { ok: false, problem: `familiar send: ${answer.message}` }
  const sent = parseJson(answer.text, sendSchema)
  return sent.ok && sent.value.reply !== '' ? { ok: true } : { ok: false, problem: 'familiar send: it did not answer' }
}

/** What its doctor finds broken. */
export async function brokenChecks(program: Checked): Promise<{ ok: true; checks: string[] } | Failed> {
  const answer = await familiar(program, ['doctor'])
  // It ends with an exit code of its own where something is broken, and says what all the same.
  const parsed = parseJson(answer.text, doctorSchema)
  if (!parsed.ok) return { ok: false, problem: `familiar doctor: ${answer.ok ? parsed.message : answer.message}` }
  const broken = parsed.value.findings.filter(({ state }) => state === 'fail')
  return { ok: true, checks: broken.map(({ check }) => check) }
}

/** Whether a version runs at all. The first command of a clone also fetches what it depends on, which takes its time. */
export async function saysVersion(program: Checked, version: string): Promise<Health> {
  const answer = await familiar(program, ['--version'], longestFetchMs)
  if (!answer.ok) return { ok: false, problem: `familiar --version: ${answer.message}` }
  if (answer.text.trim() === version) return { ok: true }
  return { ok: false, problem: `familiar --version: it says that it is ${answer.text.trim()}` }
}

async function familiar({ command, home, env, signal }: Checked, words: string[], wallMs = ordinaryMs) {
  const environment = Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (value ? [[name, value]] : [])))
  return runTool({
    argv: [process.execPath, command, '--home', home, '--json', ...words],
    workingDirectory: '/',
    environment,
    signal,
    wallMs,
  })
}
