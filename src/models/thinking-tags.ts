import type { AssistantPart, TextPart } from '../protocol/messages.ts'
import type { LanguageModel, ModelStreamEvent } from './model.ts'

/** The tags that models write around their thinking when no server removed them. */
const tags: readonly (readonly [open: string, close: string])[] = [
  ...['think', 'thinking', 'thought', 'reason', 'reasoning', 'seed:think'].map(
    (name) => [`<${name}>`, `</${name}>`] as const,
  ),
  ['[think]', '[/think]'],
  ['◁think▷', '◁/think▷'],
  ['<|begin_of_thought|>', '<|end_of_thought|>'],
]
const opens = tags.map(([open]) => open)
const closes = tags.map(([, close]) => close)
const maxTagLength = Math.max(...[...opens, ...closes].map((tag) => tag.length))

type Piece = { type: 'text' | 'thinking'; text: string } | { type: 'restart' }

/** A part of the response. `open + text + close` is the model's text. */
interface Segment {
  type: 'text' | 'thinking'
  text: string
  open: string
  close: string
}

/**
 * Separates thinking in tags from the response. A block counts only at the beginning of the response, or directly after
 * another block. A closing tag without an opening one makes everything before it thinking, unless it is in code or in
 * the middle of a line. A tag anywhere else is text. How the text was split does not matter.
 *
 * `expectInside` changes only the first output: text before the first tag is shown as thinking.
 */
export function createThinkingSplitter({ expectInside = false } = {}) {
  const segments: Segment[] = []
  const code = createCodeTracker()
  let mode: 'start' | 'opened' | 'inside' | 'text' = 'start'
  let held = ''
  let close = ''
  /** Whether a closing tag may still mean that the response began with thinking. */
  let mayImply = true
  let implied = false
  let out: Piece[] = []
  let hasShown = false

  function show(type: 'text' | 'thinking', text: string): void {
    if (text === '') return
    const last = out.at(-1)
    if (last?.type === type) last.text += text
    else out.push({ type, text })
  }

  function current(type: Segment['type']): Segment {
    const last = segments.at(-1)
    if (last?.type === type && last.close === '') return last
    const segment = { type, text: '', open: '', close: '' }
    segments.push(segment)
    return segment
  }

  function say(type: Segment['type'], text: string): void {
    current(type).text += text
    show(type === 'text' && expectInside && mayImply ? 'thinking' : type, text)
  }

  /** Processes the held text; true if it should be called again. */
  function step(isEnd: boolean): boolean {
    switch (mode) {
      case 'start':
        return stepStart(isEnd)
      case 'opened': {
        const rest = held.trimStart()
        if (rest === '' && !isEnd) return false
        current('thinking').open += held.slice(0, held.length - rest.length)
        held = rest
        mode = 'inside'
        return rest !== ''
      }
      case 'inside':
        return stepInside(isEnd)
      case 'text':
        return stepText(isEnd)
    }
  }

  function stepStart(isEnd: boolean): boolean {
    const rest = held.trimStart()
    const space = held.slice(0, held.length - rest.length)
    const open = tagAt(rest, opens)
    if (open) {
      mayImply = false
      segments.push({ type: 'thinking', text: '', open: space + rest.slice(0, open.length), close: '' })
      close = closes[opens.indexOf(open)] ?? ''
      held = rest.slice(open.length)
      mode = 'opened'
      return true
    }
    if (!isEnd && (rest === '' || isPrefix(rest, opens))) return false
    const block = segments.at(-1)
    if (block) {
      block.close += space
      held = rest
    }
    mode = 'text'
    return held !== ''
  }

  function stepInside(isEnd: boolean): boolean {
    const at = indexOfTag(held, close)
    if (at !== -1) {
      say('thinking', held.slice(0, at))
      current('thinking').close = held.slice(at, at + close.length)
      held = held.slice(at + close.length)
      mode = 'start'
      return true
    }
    const keep = isEnd ? held.length : held.length - tailOf(held, [close])
    say('thinking', held.slice(0, keep))
    held = held.slice(keep)
    return false
  }

  function stepText(isEnd: boolean): boolean {
    if (!mayImply) {
      say('text', held)
      held = ''
      return false
    }
    for (const { index } of held.matchAll(/[<[◁]/g)) {
      const rest = held.slice(index, index + maxTagLength)
      const tag = tagAt(rest, closes)
      // An opening tag in the middle: it and its closing tag are text.
      if (tagAt(rest, opens)) {
        settle()
        return true
      }
      if (!tag && !isEnd && rest.length < maxTagLength && isPrefix(rest, [...opens, ...closes])) return hold(index)
      if (!tag) continue
      const seen = code.after(held.slice(0, index))
      if (seen.inCode) continue
      const after = held.slice(index + tag.length).replace(/^[ \t\r]+/, '')
      if (!seen.atLineStart && after === '' && !isEnd) return hold(index)
      if (seen.atLineStart || after.startsWith('\n')) return imply(index, tag)
    }
    return hold(held.length)
  }

  function hold(index: number): false {
    code.take(held.slice(0, index))
    say('text', held.slice(0, index))
    held = held.slice(index)
    return false
  }

  /** From here on everything is text. */
  function settle(): void {
    const said = segments.map(({ text }) => text).join('')
    mayImply = false
    if (!expectInside || said === '') return
    out = [...restart(), { type: 'text', text: said }]
  }

  function imply(index: number, tag: string): true {
    const text = segments.map((segment) => segment.text).join('') + held.slice(0, index)
    if (!expectInside) out = restart()
    mayImply = false
    implied = true
    show('thinking', expectInside ? held.slice(0, index) : text)
    const written = held.slice(index, index + tag.length)
    segments.splice(0, segments.length, { type: 'thinking', text, open: '', close: written })
    held = held.slice(index + tag.length)
    mode = 'start'
    return true
  }

  function restart(): Piece[] {
    return hasShown ? [{ type: 'restart' }] : []
  }

  function taken(): Piece[] {
    const pieces = out
    out = []
    hasShown ||= pieces.length > 0
    return pieces
  }

  return {
    /** The output that is certain now. After `restart` all earlier output is void. */
    push(text: string): Piece[] {
      held += text
      while (step(false)) {}
      return taken()
    },
    end(): Piece[] {
      while (step(true)) {}
      if (mayImply) settle()
      return taken()
    },
    segments: (): readonly Segment[] => segments,
    /** The response began with thinking: it had a closing tag without an opening one. */
    beganInside: () => implied,
  }
}

/** Whether the next character is in a code block or inline code, and whether only spaces precede it. */
function createCodeTracker() {
  let fenced = false
  let line = ''

  function read(text: string): { fenced: boolean; line: string } {
    let inFence = fenced
    const lines = (line + text).split('\n')
    for (const ended of lines.slice(0, -1)) if (/^\s*(?:```|~~~)/.test(ended)) inFence = !inFence
    return { fenced: inFence, line: lines.at(-1) ?? '' }
  }

  return {
    take(text: string): void {
      const seen = read(text)
      fenced = seen.fenced
      line = seen.line
    },
    after(text: string): { inCode: boolean; atLineStart: boolean } {
      const seen = read(text)
      const ticks = seen.line.split('`').length - 1
      return { inCode: seen.fenced || ticks % 2 === 1, atLineStart: seen.line.trim() === '' }
    },
  }
}

function tagAt(text: string, known: readonly string[]): string | undefined {
  const head = text.slice(0, maxTagLength).toLowerCase()
  return known.find((tag) => head.startsWith(tag))
}

function indexOfTag(text: string, tag: string): number {
  for (let at = text.indexOf(tag.charAt(0)); at !== -1; at = text.indexOf(tag.charAt(0), at + 1)) {
    if (tagAt(text.slice(at, at + tag.length), [tag])) return at
  }
  return -1
}

function isPrefix(text: string, known: readonly string[]): boolean {
  const lower = text.toLowerCase()
  return known.some((tag) => tag.startsWith(lower))
}

/** How many characters at the end could be the beginning of a tag. */
function tailOf(text: string, known: readonly string[]): number {
  for (let length = Math.min(maxTagLength, text.length); length > 0; length -= 1) {
    if (isPrefix(text.slice(-length), known)) return length
  }
  return 0
}

/** The same model with tagged thinking shown as thinking, and never as the reply. */
export function splitThinkingTags(model: LanguageModel, providerName: string): LanguageModel {
  // Servers that drop the opening tag do so in every response, so the next one is shown correctly from its first word.
  let expectInside = false
  return {
    info: model.info,
    async *stream(request, signal): AsyncGenerator<ModelStreamEvent> {
      const splitter = createThinkingSplitter({ expectInside })
      let thinking = ''

      function* told(pieces: readonly Piece[]): Generator<ModelStreamEvent> {
        for (const piece of pieces) {
          if (piece.type !== 'restart') yield { type: `${piece.type}_delta`, text: piece.text }
          else {
            yield piece
            if (thinking !== '') yield { type: 'thinking_delta', text: thinking }
          }
        }
      }

      try {
        for await (const event of model.stream(request, signal)) {
          if (event.type === 'text_delta') yield* told(splitter.push(event.text))
          else if (event.type === 'finished') {
            yield* told(splitter.end())
            expectInside = splitter.beganInside() || (expectInside && splitter.segments().length === 0)
            const parts = splitParts(event.response.parts, splitter.segments(), providerName)
            yield { type: 'finished', response: { ...event.response, parts } }
          } else {
            if (event.type === 'thinking_delta') thinking += event.text
            yield event
          }
        }
      } catch (cause) {
        yield* told(splitter.end())
        throw cause
      }
    },
  }
}

/** The parts of a response with its text split at the segments. */
function splitParts(
  parts: readonly AssistantPart[],
  segments: readonly Segment[],
  providerName: string,
): AssistantPart[] {
  if (!segments.some(({ type }) => type === 'thinking')) return [...parts]
  const left = segments.map((segment) => ({ ...segment, length: lengthOf(segment) }))
  return parts.flatMap((part): AssistantPart[] => {
    if (part.type !== 'text') return [part]
    const made: AssistantPart[] = []
    for (let rest = part.text; rest !== '' && left[0]; ) {
      const segment = left[0]
      const taken = rest.slice(0, segment.length)
      rest = rest.slice(taken.length)
      segment.length -= taken.length
      if (segment.length === 0) left.shift()
      if (segment.type === 'text') made.push({ ...part, text: taken })
      // A block that spans two parts of the response is written where it ends.
      else if (segment.length === 0) made.push(thinkingPart(segment, providerName))
    }
    return made
  })
}

function lengthOf({ open, text, close }: Segment): number {
  return open.length + text.length + close.length
}

function thinkingPart({ open, text, close }: Segment, provider: string): AssistantPart {
  return { type: 'thinking', text, replay: { provider, metadata: { tags: [open, close] } } }
}

/** Tagged thinking as its original text, for the provider that wrote it; undefined for any other. */
export function taggedText(part: AssistantPart): TextPart | undefined {
  const written = part.type === 'thinking' ? part.replay?.metadata.tags : undefined
  if (part.type !== 'thinking' || !Array.isArray(written)) return undefined
  return { type: 'text', text: `${String(written[0])}${part.text}${String(written[1])}` }
}
