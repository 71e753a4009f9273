import { posix } from 'node:path'
import type { DockerfileCopy } from './dockerfile-plan.ts'
import type { Instruction } from './instructions.ts'

/** What COPY or ADD brings, or why only an engine could do it. `words` are its sources and, last, its target. */
export function readCopyStep({ name, flags, documents }: Instruction, words: readonly string[], workdir: string) {
  const sources = words.slice(0, -1)
  const written = words.at(-1)
  const why = whyNot()
  if (why !== undefined || written === undefined) return { copies: [], why: why ?? `${name} names no target` }

  const target = posix.resolve(workdir, written)
  const isIntoDirectory = /(^|\/)\.{0,2}$/.test(written) || target === workdir || sources.length > 1
  const copies = sources.map((source): DockerfileCopy => {
    const inside = posix.normalize(source).replace(/^\/+|\/+$/g, '') || '.'
    return { source: inside, target, isIntoDirectory: isIntoDirectory || isPattern(inside) }
  })
  const outside = copies.find(({ source }) => source === '..' || source.startsWith('../'))
  if (outside) return { copies: [], why: `${name} reaches out of the tool's folder: ${outside.source}` }
  return { copies, why: undefined }

  function whyNot(): string | undefined {
    if (flags.from !== undefined) return `${name} --from takes files out of another image`
    if (documents.length > 0) return `${name} of a text inside the Dockerfile`
    if (sources.length === 0) return `${name} needs a source and a target`
    if (name !== 'ADD') return undefined
    const url = sources.find((source) => /^(https?|git|ssh):|^git@/.test(source))
    if (url) return `ADD fetches ${url}`
    const archive = sources.find((source) => /\.(tar|tgz|tbz2?|txz|tar\.[a-z0-9]+)$/.test(source))
    return archive && `ADD unpacks ${archive}`
  }
}

/** Which file of the tool's folder lies at an inner path, by the copy that brought it last. */
export function copiedFrom(copies: readonly DockerfileCopy[], innerPath: string): string | undefined {
  for (const { source, target, isIntoDirectory } of copies.toReversed()) {
    const asFile = isIntoDirectory ? posix.join(target, posix.basename(source)) : target
    if (!isPattern(source) && source !== '.' && innerPath === asFile) return source
    const inside = posix.relative(target, innerPath)
    if (inside === '' || inside.startsWith('..')) continue
    // Whether a source is a folder is not known here. What has an ending is taken for a file.
    if (source === '.' || (!isPattern(source) && posix.extname(source) === '')) return posix.join(source, inside)
    if (isPattern(source) && matches(posix.basename(source), inside)) return posix.join(posix.dirname(source), inside)
  }
  return undefined
}

function isPattern(source: string): boolean {
  return /[*?[]/.test(source)
}

/** `*` and `?` in one name. Goes back to the last star only, so that no pattern takes long; classes match nothing. */
function matches(pattern: string, name: string): boolean {
  let at = 0
  let star = -1
  let starAt = 0
  for (let index = 0; index < name.length; ) {
    if (pattern[at] === '*') {
      star = at++
      starAt = index
    } else if (name[index] !== '/' && (pattern[at] === '?' || pattern[at] === name[index])) {
      at += 1
      index += 1
    } else if (star !== -1 && name[starAt] !== '/') {
      at = star + 1
      index = ++starAt
    } else return false
  }
  return /^\**$/.test(pattern.slice(at))
}
