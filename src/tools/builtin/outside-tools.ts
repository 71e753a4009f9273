import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import type { ChildEnd, RunChild } from '../../base/processes.ts'
import { setNewest } from '../../base/work.ts'
import type { LocalVoice } from '../../models/speech/local-voice.ts'
import type { Speaker } from '../../models/speech/speaker.ts'
import { createSpeaker } from '../../models/speech/speaker.ts'
import type { SpeechSettings } from '../../models/speech/speech.ts'
import { type SandboxEnd, type SandboxMount, SandboxUnavailable } from '../../sandbox/sandbox.ts'
import { commandParts } from '../../security/command-rules.ts'
import { type AllowedHost, createListedHosts } from '../../security/network/destinations.ts'
import { redirectRefused } from '../../security/network/guarded-fetch.ts'
import type { LoopbackProxy } from '../../security/network/sandbox-proxy.ts'
import { cleanForeignText, documentKind, pageOf } from '../documents/foreign-text.ts'
import { createReadPage, type ReadPage } from '../documents/read-page.ts'
import type { Workbench } from '../files/workbench.ts'
import { defineTool, failed, type Tool, type ToolOutcome } from '../tool.ts'
import { createBrowserTool } from './browser-tool.ts'
import { createChart } from './chart.ts'
import { createFetches, type Fetches, fetchFailure, type OpenFetch } from './fetches.ts'
import type { PutMedia } from './message.ts'
import { missingInRun, runEnvironment } from './run-hints.ts'
import { createWebSearch, type WebSearchSettings } from './web-search.ts'

interface OutsideSettings {
  webSearch: WebSearchSettings | null
  browser: { executable: string | null }
  exec: { host: 'ask' | 'never' }
  tts: SpeechSettings
}

export interface OutsideNeeds {
  /** Read at every use, so that a reload takes effect at once. */
  settings: () => OutsideSettings
  /** Hosts of the owner's network that may be read. A browser reaches none of them. */
  allowedHosts: () => readonly AllowedHost[]
  openFetch: OpenFetch
  openProxy: () => Promise<LoopbackProxy>
  runChild: RunChild
  putMedia: PutMedia
  /** The voice models of this machine, released by their creator. Undefined: there are none. */
  voice?: LocalVoice
  browserDirectory: string
  /** The environment of programs on this machine: PATH and the like, without secrets. */
  environment: Readonly<Record<string, string>>
  isRoot: boolean
  clock: Clock
}

const usualPath = '/usr/local/bin:/usr/bin:/bin'

export function createOutsideTools(needs: OutsideNeeds) {
  const { settings, environment } = needs
  const fetches = createFetches(needs.openFetch)
  const searchPath = environment.PATH ?? usualPath
  const browser = createBrowserTool({
    ...needs,
    settings: () => settings().browser,
    directory: needs.browserDirectory,
    searchPath,
  })
  const speaker = createSpeaker({
    ...needs,
    settings: () => settings().tts,
    local: needs.voice ?? null,
    fetchReaching: fetches.reaching,
    searchPath,
  })
  return {
    speaker,
    tools: [
      ...createWebTools({ ...needs, fetches, webSearch: () => settings().webSearch }),
      browser.tool,
      createSpeechTool({ ...needs, speaker }),
      createChart(needs),
    ],
    async close(): Promise<void> {
      await browser.close()
      await fetches.close()
    },
  }
}

interface FinishedRun {
  end: SandboxEnd | ChildEnd
  stdout: Uint8Array
  stderr: Uint8Array
  durationMs: number
}

const stdoutCharacters = 8_000
const stderrCharacters = 3_000

function describeRun({ end, stdout, stderr, durationMs }: FinishedRun): ToolOutcome {
  const printed = withoutMiddle(textOf(stdout), stdoutCharacters)
  const complained = withoutMiddle(textOf(stderr), stderrCharacters)
  const isError = end.kind !== 'exited' || end.code !== 0
  const text = [
    `[${describeEnd(end)}, ${(durationMs / 1_000).toFixed(1)} s]`,
    printed,
    complained && `[stderr]\n${complained}`,
  ]
  const isLate = end.kind === 'timed_out'
  return { text: text.filter((part) => part !== '').join('\n'), isError, ...(isLate && { timedOut: true }) }
}

const ends = {
  timed_out: 'stopped: time limit exceeded',
  out_of_memory: 'stopped: memory limit exceeded',
  output_too_large: 'stopped: output limit exceeded',
}

function describeEnd(end: FinishedRun['end']): string {
  if (end.kind === 'exited') return `exit code ${end.code}`
  if (end.kind === 'killed') return `killed by ${end.signal}`
  return end.kind === 'not_started' ? `could not be started: ${end.reason}` : ends[end.kind]
}

function textOf(bytes: Uint8Array): string {
  return cleanForeignText(Buffer.from(bytes).toString()).trim()
}

/** Packages for one run: what is mounted, and the variables that let programs find it. */
export type PackagesOf = (
  names: readonly string[],
  signal: AbortSignal,
) => Promise<
  | { ok: true; mounts: readonly SandboxMount[]; environment: Readonly<Record<string, string>> }
  | { ok: false; problem: string }
>

/** Mounts the enabled skills that the command names while the work runs. */
type WithSkills = <T>(
  asked: { userId: string; command: string },
  work: (mounts: readonly SandboxMount[]) => Promise<T>,
) => Promise<T>

/** The beginning and end of a program's output are the most useful. */
function withoutMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text
  const head = text.slice(0, (limit / 3) * 2).toWellFormed()
  const tail = text.slice(-limit / 3).toWellFormed()
  return `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`
}

export interface ExecNeeds {
  workbench: Pick<Workbench, 'run'>
  /** The Python and npm packages of a run; `packagesOf` explains what it could not get. */
  packagesOf: PackagesOf
  /** The skills, read-only. */
  withSkills: WithSkills
  runChild: RunChild
  settings: () => { host: 'ask' | 'never' }
  workspace: string
  environment: Readonly<Record<string, string>>
}

const megabyte = 1024 * 1024
const outputBytes = megabyte
const sandboxLimits = { memoryBytes: 512 * megabyte, processes: 64, outputBytes, scratchBytes: 128 * megabyte }

// If its input is a socket, as here, bash assumes a remote shell and reads the user's .bashrc with its exports.
const bash = ['bash', '--noprofile', '--norc', '-c'] as const

/** On the host it runs only if the owner approved that command or each of its parts: the caller ensures that, by `reach`. */
export function createExecTool(needs: ExecNeeds): Tool {
  return defineTool({
    name: 'exec',
    description:
      'Run a bash command in a sandbox without network, in /workspace: the user’s files. Files written there are kept ' +
      'and shown to the user. /scratch keeps files for this conversation, /skills/NAME has the files of a skill. ' +
      'host: true runs it on the machine itself, in the workspace; the user is asked first.',
    input: z.object({
      command: z.string().min(1).max(20_000),
      host: z.boolean().default(false),
      seconds: z.int().min(1).max(300).default(30),
      packages: z.array(z.string().max(200)).max(20).optional().describe('Python packages; npm:NAME for Node'),
    }),
    effect: 'at-most-once',
    reach({ command, host }) {
      if (!host) return { kind: 'change', destination: null }
      return { kind: 'host', destination: 'exec:host', grants: commandParts(command) ?? [] }
    },
    async run({ command, host, seconds, packages = [] }, context) {
      const { signal } = context
      const program = { argv: [...bash, command] as const, stdin: new Uint8Array() }
      const wallMs = seconds * 1_000
      if (!host) {
        const limits = { ...sandboxLimits, wallMs }
        try {
          const given = await needs.packagesOf(packages, signal)
          if (!given.ok) return failed(given.problem)
          const { environment } = given
          return await needs.withSkills({ userId: context.userId, command }, async (skills) => {
            const mounts = [...given.mounts, ...skills]
            const asked = {
              ...program,
              environment: { ...runEnvironment, ...environment },
              mounts,
              network: { kind: 'none' as const },
              limits,
            }
            const { outcome, notes, kept } = await needs.workbench.run(asked, context)
            const described = outcome ? describeRun(outcome) : failed('[stopped]')
            const all = [...(outcome ? missingInRun(outcome) : []), ...notes]
            return { ...described, ...kept, text: [described.text, ...all.map((note) => `[${note}]`)].join('\n') }
          })
        } catch (cause) {
          return describeUnavailable(cause)
        }
      }
      if (needs.settings().host === 'never') {
        return failed(
          'Commands on the machine itself are switched off: familiar.toml has host = "never" in [tools.exec].',
        )
      }
      const { environment, workspace: workingDirectory } = needs
      const limits = { wallMs, outputBytes }
      const outcome = await needs.runChild({ ...program, signal, environment, workingDirectory, limits })
      // Output of a command on the host may be untrusted, and from any file.
      return { ...describeRun(outcome), label: 'untrusted', isPrivate: true }
    },
  })
}

function describeUnavailable(error: unknown): ToolOutcome {
  if (!(error instanceof SandboxUnavailable)) throw error
  return failed(error.fix === null ? `${error.message}.` : `${error.message}. To fix it: ${error.fix}`)
}

export function createSpeechTool(needs: { speaker: Pick<Speaker, 'speak' | 'destination'>; putMedia: PutMedia }): Tool {
  const { speaker, putMedia } = needs
  return defineTool({
    name: 'tts',
    description: 'Speak a text: makes an audio file for the user.',
    input: z.object({ text: z.string().trim().min(1).max(5_000) }),
    effect: 'at-least-once',
    reach() {
      const destination = speaker.destination()
      return { kind: destination === null ? 'read' : 'reach', destination }
    },
    async run({ text }, { signal }) {
      const spoken = await speaker.speak({ text, voice: null, signal })
      if (!spoken.ok) {
        const { reason, fault } = spoken
        return {
          ...failed(reason),
          ...(fault !== null && { serviceFailed: true }),
          ...(fault === 'timeout' && { timedOut: true }),
        }
      }
      const { data, mediaType, extension } = spoken.recording
      const part = await putMedia({ name: `speech.${extension}`, mediaType, data })
      return { text: `Done; the user has the recording (${data.length} bytes).`, isError: false, media: [part] }
    },
  })
}

interface RecentPage {
  text: string
  isPrivate: boolean
  at: number
}

const maxPages = 8
const maxMs = 15 * 60_000

interface WebFetchNeeds {
  fetches: Fetches
  allowedHosts: () => readonly AllowedHost[]
  readPage: ReadPage
  clock: Clock
}

const pageCharacters = 8_000
const headers = {
  accept: 'text/html,application/xhtml+xml,text/markdown,text/plain,application/json,application/pdf;q=0.9,*/*;q=0.5',
  'user-agent': 'Mozilla/5.0 (compatible; Familiar)',
}

export function createWebFetch(needs: WebFetchNeeds): Tool {
  const { fetches, allowedHosts, clock } = needs
  /** The most recently read texts, so that paging asks the server once. */
  const recent = new Map<string, RecentPage>()
  return defineTool({
    name: 'web_fetch',
    description:
      'Read a web page, PDF or text file as text. A long one comes in pages: pass the offset that it states.',
    input: z.object({
      url: z.url({ protocol: /^https?$/, error: 'must be an http or https address' }),
      offset: z.int().min(0).default(0),
    }),
    effect: 'idempotent',
    reach: ({ url }) => ({ kind: 'reach', destination: new URL(url).origin, reads: url }),
    async run({ url, offset }, { sessionId, signal, mayFollow }) {
      // The next page comes from the same text as the first, even if the site has changed since.
      const key = `${sessionId} ${url}`
      const known = offset > 0 ? recent.get(key) : undefined
      if (known && clock.now() - known.at < maxMs) return page(known, offset)
      let refused: URL | undefined
      const onRedirect = async (target: URL, from: URL) => {
        if (await mayFollow(target)) return
        refused = target
        throw redirectRefused(target, from)
      }
      try {
        const response = await fetches.reaching(allowedHosts())(url, { headers, signal, onRedirect })
        const read = await readResponse(needs, response, signal)
        if ('outcome' in read) return read.outcome
        // Content from the owner's network is private.
        const isPrivate = createListedHosts(allowedHosts())(new URL(response.url))
        const fresh = { text: read.text, isPrivate, at: clock.now() }
        setNewest(recent, key, fresh, maxPages)
        return page(fresh, offset)
      } catch (error) {
        return refused ? askForRedirect(url, refused) : fetchFailure(error, new URL(url).host, signal)
      }
    },
  })
}

/** The server chose the address, so the call with it is judged like any other. */
function askForRedirect(url: string, target: URL): ToolOutcome {
  const address = cleanForeignText(target.href).slice(0, maxAddress)
  const text = `Not read: ${new URL(url).origin} redirects to ${target.origin}, which the user did not approve. To ask them, call web_fetch with this address: ${address}`
  return { ...failed(text), label: 'untrusted' }
}

const maxAddress = 2_000

async function readResponse(
  { readPage }: WebFetchNeeds,
  response: Response,
  signal: AbortSignal,
): Promise<{ text: string } | { outcome: ToolOutcome }> {
  const { status, url: address } = response
  if (!response.ok) {
    await response.body?.cancel()
    const isDown = status >= 500 || status === 429
    return { outcome: { ...failed(`${address} answered ${status}.`), ...(isDown && { serviceFailed: true }) } }
  }
  const contentType = response.headers.get('content-type') ?? ''
  const mediaType = (contentType.split(';')[0] ?? '').trim().toLowerCase()
  const bytes = new Uint8Array(await response.arrayBuffer())
  const kind = documentKind(mediaType, bytes)
  if (!kind) {
    const what = /^[\w.+-]+\/[\w.+-]+$/.test(mediaType) ? mediaType : 'no text'
    const reason = `${address} is ${what} (${bytes.length} bytes). Only web pages, text, JSON, PDF and Office files can be read.`
    return { outcome: failed(reason) }
  }
  const read = await readPage({ kind, contentType, address, bytes }, signal)
  if (!read.ok) {
    const outcome: ToolOutcome = { ...failed(`${address} could not be read: ${read.message}.`), label: 'untrusted' }
    return { outcome: read.timedOut ? { ...outcome, timedOut: true } : outcome }
  }
  const head = read.title === '' ? address : `# ${read.title}\n${address}`
  const rest = read.isCut ? '\n[The text continues; only this much was read.]' : ''
  return { text: `${head}\n\n${read.text === '' ? '[There is no text in it.]' : read.text}${rest}` }
}

function page({ text, isPrivate }: RecentPage, offset: number): ToolOutcome {
  if (offset >= text.length) return failed(`It has ${text.length} characters; offset ${offset} is past the end.`)
  const shown = pageOf(text, offset, pageCharacters)
  return { text: shown, isError: false, label: 'untrusted', ...(isPrivate && { isPrivate }) }
}

interface WebNeeds extends Omit<WebFetchNeeds, 'readPage'> {
  webSearch: () => WebSearchSettings | null
  runChild: RunChild
}

export function createWebTools(needs: WebNeeds): Tool[] {
  return [
    createWebFetch({ ...needs, readPage: createReadPage(needs) }),
    createWebSearch({ settings: needs.webSearch, fetches: needs.fetches }),
  ]
}
