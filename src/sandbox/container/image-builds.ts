import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import type { Logger } from '../../base/logger.ts'
import { type SandboxImage, SandboxUnavailable } from '../sandbox.ts'
import { type EngineClient, EngineError } from './engine-client.ts'
import { tarDirectory } from './tar-stream.ts'
import { untilAborted } from './until-aborted.ts'

/** Whose images they are: another home may have a tool of the same name. */
const homeLabel = 'familiar.home'
const toolLabel = 'familiar.tool'

const buildMs = 15 * 60_000
const toldLines = 15
/** A build runs the tool's own steps. */
const buildBytes = String(2 * 1024 * 1024 * 1024)

/** Images, each built once per hash. Whoever asks meanwhile waits for the same build. */
export interface ImageBuilds {
  /** The image's tag. Throws `SandboxUnavailable` with the last lines where the build fails. */
  ready(image: SandboxImage, signal: AbortSignal): Promise<string>
}

export function createImageBuilds(options: {
  client: EngineClient
  home: string
  logger: Logger
  /** Ends builds. */
  closing: AbortSignal
}): ImageBuilds {
  const { client, home, logger, closing } = options
  const builds = new Map<string, Promise<void>>()

  async function build(tag: string, { directory, name }: SandboxImage): Promise<void> {
    if (await hasImage(client, tag, closing)) return
    logger.info('Building the image of a tool', { tool: name, tag })
    const labels = JSON.stringify({ [homeLabel]: home, [toolLabel]: name })
    const signal = AbortSignal.any([closing, AbortSignal.timeout(buildMs)])
    const query = { t: tag, rm: '1', forcerm: '1', labels, memory: buildBytes, memswap: buildBytes }
    const body = tarDirectory(directory)
    const answer = await client.stream({ method: 'POST', path: '/build', query, body, signal }).catch((cause) => {
      throw cause instanceof EngineError ? notBuilt(name, [cause.message]) : cause
    })
    const lines: string[] = []
    let failure: string | undefined
    for await (const line of textLines(answer)) {
      const parsed = parseJson(line, progressSchema)
      if (!parsed.ok) continue
      const { stream, error } = parsed.value
      if (stream?.trim()) lines.push(...stream.trimEnd().split('\n'))
      lines.splice(0, lines.length - toldLines)
      failure ??= error
    }
    if (failure === undefined && (await hasImage(client, tag, closing))) {
      return removeOlder(tag, name).catch((cause) => logger.debug('Older images of a tool stay', { tool: name, cause }))
    }
    throw notBuilt(name, [...lines, failure ?? 'the engine said nothing'])
  }

  /** Images of the same tool as it was before. One that is still in use stays until the next time. */
  async function removeOlder(tag: string, name: string): Promise<void> {
    const query = { filters: JSON.stringify({ label: [toolLabel] }) }
    const images = await client.json({ method: 'GET', path: '/images/json', query, signal: closing }, imagesSchema)
    const own = images.filter(({ Labels }) => Labels?.[homeLabel] === home && Labels[toolLabel] === name)
    for (const old of own.flatMap(({ RepoTags }) => RepoTags ?? [])) {
      if (old.endsWith(tag)) continue
      await client.send({ method: 'DELETE', path: `/images/${encodeURIComponent(old)}`, signal: closing })
    }
  }

  return {
    async ready(image, signal) {
      const tag = tagOf(image)
      let building = builds.get(tag)
      if (!building) {
        building = build(tag, image)
        builds.set(tag, building)
        // Not kept: what failed is tried again, and what succeeded may be cleared away by hand.
        const forget = () => builds.delete(tag)
        building.then(forget, forget)
      }
      await untilAborted(building, signal)
      return tag
    },
  }
}

const progressSchema = z.object({ stream: z.string().optional(), error: z.string().optional() })
const imagesSchema = z.array(
  z.object({ RepoTags: z.array(z.string()).nullish(), Labels: z.record(z.string(), z.string()).nullish() }),
)

function notBuilt(name: string, lines: readonly string[]): SandboxUnavailable {
  return new SandboxUnavailable(`The image of ${name} could not be built: ${lines.join('\n')}`)
}

/** Not with readline, which lets the errors of its source go unheard. */
async function* textLines(source: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of source) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  yield rest
}

function tagOf({ name, hash }: Pick<SandboxImage, 'name' | 'hash'>): string {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
  return `familiar-tool-${plain || 'unnamed'}:${hash.replace(/[^A-Za-z0-9]/g, '').slice(0, 64)}`
}

async function hasImage(client: EngineClient, tag: string, signal: AbortSignal): Promise<boolean> {
  try {
    await client.send({ method: 'GET', path: `/images/${encodeURIComponent(tag)}/json`, signal })
    return true
  } catch (cause) {
    if (cause instanceof EngineError && cause.status === 404) return false
    throw cause
  }
}
