import { truncateText } from '../../base/text.ts'
import type { Label } from '../../protocol/label.ts'
import type { MediaPart } from '../../protocol/message.ts'
import type { AssetFailure } from '../asset-failure.ts'
import { fenced, oneLineName } from './fenced.ts'
import { findReferences, type Reference } from './find-references.ts'
import { imageTypeOf } from './image-type.ts'

interface AskedReference {
  userId: string
  path: string
  signal: AbortSignal
}

export interface ReferenceText {
  ok: true
  /** As it is to be named. */
  path: string
  text: string
  /** What is missing of it, and how to read on; null where it is all there. */
  note: string | null
  trust: Label
}

/**
 * Where the contents come from. Each answers expected failures as data, with a sentence for the user; what its user may
 * not reach is not there. None of them is asked for the same thing twice in one message.
 */
export interface ReferenceSources {
  /** A page of a file; of one that is too long, its beginning. What is no text is a failure with the code `binary`. */
  readFile(asked: AskedReference): Promise<ReferenceText | AssetFailure>
  /** The same for a block, by its label. */
  readBlock(asked: AskedReference): Promise<ReferenceText | AssetFailure>
  /** All of a file that is no text; `too_large` where it has more than `mostBytes`. */
  readBytes(
    asked: AskedReference & { mostBytes: number },
  ): Promise<{ ok: true; path: string; data: Uint8Array; trust: Label } | AssetFailure>
  /** Keeps an image as if it had been attached. */
  keepMedia(file: { name: string; mediaType: string; data: Uint8Array }): Promise<MediaPart>
  /** How a model is shown words of others. */
  asData(text: string): string
}

export interface Expansion {
  text: string
  /** For the user: what was not found, what is cut. */
  notes: string[]
  /** Images that were named, as attachments. */
  media: MediaPart[]
  /** What the text now holds beside the user's own words, and whose words that is. */
  included: { kind: Reference['kind']; path: string; trust: Label }[]
}

const mostReferences = 20
const mostCharacters = 100_000
const mostCharactersOfAll = 300_000
const mostImageBytes = 10_000_000

type Outcome = { replacement: string } | { note: string }

/**
 * The text as it is sent: `@path` and `@@path` with what they name in their place. Once: an `@` in what is put in stays.
 * What is not there stays as it was written. Only the signal's reason is thrown, and what the sources throw.
 */
export async function expandReferences(
  request: { text: string; userId: string; signal: AbortSignal } & ReferenceSources,
): Promise<Expansion> {
  const { text, signal } = request
  const expansion: Expansion = { text, notes: [], media: [], included: [] }
  const seen = new Set<string>()
  let room = mostCharactersOfAll
  let written = ''
  let done = 0
  for (const reference of findReferences(text)) {
    signal.throwIfAborted()
    const key = `${reference.kind} ${reference.path}`
    // The second time it stays: what it names stands above.
    if (seen.has(key)) continue
    seen.add(key)
    const outcome = await replace(reference)
    if ('note' in outcome) {
      expansion.notes.push(outcome.note)
      continue
    }
    room -= outcome.replacement.length
    written += text.slice(done, reference.start)
    if (written !== '' && !written.endsWith('\n')) written += '\n'
    written += outcome.replacement
    done = reference.end
    if (done < text.length && text[done] !== '\n') written += '\n'
  }
  return { ...expansion, text: written + text.slice(done) }

  async function replace(reference: Reference): Promise<Outcome> {
    const { kind, path } = reference
    const asWritten = text.slice(reference.start, reference.end)
    if (seen.size > mostReferences) return stays(asWritten, `only ${mostReferences} are put in at once`)
    const asked = { userId: request.userId, path, signal }
    const found = await (kind === 'file' ? request.readFile(asked) : request.readBlock(asked))
    if (!found.ok)
      return found.code === 'binary' && kind === 'file' ? attach(asked, asWritten) : refused(asWritten, found)
    const shown = truncateText(found.text, mostCharacters)
    if (shown.length > room) return stays(asWritten, 'there is no more room in this message')
    const note = shown === found.text ? found.note : cutNote(found.text.length)
    if (note !== null) expansion.notes.push(`${asWritten} is not all there: ${note}`)
    expansion.included.push({ kind, path: found.path, trust: found.trust })
    const content = found.trust === 'untrusted' ? request.asData(shown) : shown
    return { replacement: fenced({ name: `${kind} ${found.path}`, content, note }) }
  }

  async function attach(asked: AskedReference, asWritten: string): Promise<Outcome> {
    const found = await request.readBytes({ ...asked, mostBytes: mostImageBytes })
    if (!found.ok) return refused(asWritten, found)
    const mediaType = imageTypeOf(found.data)
    if (!mediaType) return stays(asWritten, 'it is neither a text nor an image that can be shown')
    const name = found.path.split('/').at(-1) ?? found.path
    expansion.media.push(await request.keepMedia({ name, mediaType, data: found.data }))
    expansion.included.push({ kind: 'file', path: found.path, trust: found.trust })
    return { replacement: `[image ${oneLineName(found.path)}, attached]` }
  }
}

function refused(asWritten: string, failure: AssetFailure): Outcome {
  if (failure.code === 'is_directory') return stays(asWritten, 'it is a folder, not a file')
  return stays(asWritten, failure.message)
}

function stays(asWritten: string, reason: string): Outcome {
  return { note: `${asWritten} stays as it is: ${reason}` }
}

function cutNote(length: number): string {
  return `[${mostCharacters} of ${length} characters are shown]`
}
