export interface TextEntity {
  type: 'bold' | 'italic' | 'strikethrough' | 'code' | 'pre' | 'text_link' | 'blockquote'
  /** In UTF-16 units, which are those of our strings, too. */
  offset: number
  length: number
  language?: string
  url?: string
}

/**
 * Text and, apart from it, how it looks. No character of the text means anything to Telegram, so none can be hostile.
 * Entities lie inside the text; of two that overlap one contains the other.
 */
export interface FormattedText {
  text: string
  entities: TextEntity[]
}

export function plain(text: string): FormattedText {
  return { text, entities: [] }
}

export function joinFormatted(parts: readonly FormattedText[]): FormattedText {
  let text = ''
  const entities: TextEntity[] = []
  for (const part of parts) {
    for (const entity of part.entities) entities.push({ ...entity, offset: entity.offset + text.length })
    text += part.text
  }
  return { text, entities }
}

/** The whole of it in one more entity. */
export function wrapFormatted(inner: FormattedText, look: Omit<TextEntity, 'offset' | 'length'>): FormattedText {
  if (inner.text.trim() === '') return inner
  return { text: inner.text, entities: [{ ...look, offset: 0, length: inner.text.length }, ...inner.entities] }
}
