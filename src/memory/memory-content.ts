import { toStorableText } from '../base/text.ts'
import { FamiliarError } from '../protocol/error.ts'
import { cleanLine } from './clean-line.ts'
import type { Memory } from './memory.ts'

const longestContent = 1_000_000
const mostTags = 16
const longestTag = 64
const longestTitle = 200

export function checkContent(text: string): string {
  const content = toStorableText(text).trim()
  if (content === '') throw new FamiliarError('bad_request', 'A memory needs some text')
  if (content.length > longestContent) {
    throw new FamiliarError('payload_too_large', `A memory holds at most ${longestContent} characters`)
  }
  return content
}

export function cleanTags(tags: readonly string[]): string[] {
  const cleaned = tags.flatMap((tag) => cleanLine(tag, longestTag) ?? [])
  return [...new Set(cleaned)].slice(0, mostTags)
}

export function cleanTitle(title: string | null | undefined): string | null {
  return cleanLine(title, longestTitle)
}

export function cleanCategory(category: string | null | undefined): string | null {
  return cleanLine(category, longestTag)
}

/** Everything about a memory that words of a question may meet. */
export function searchedText({
  content,
  title,
  category,
  tags,
}: Pick<Memory, 'content' | 'title' | 'category' | 'tags'>) {
  return [content, title ?? '', category ?? '', ...tags].filter(Boolean).join('\n')
}
