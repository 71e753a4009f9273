import type { Card } from '../protocol/card.ts'
import { iconPicture } from './card-icon.ts'
import { readFragment } from './read-fragment.ts'
import { alignTable } from './text/align-table.ts'
import { renderLines } from './text/render-lines.ts'
import { tableLines } from './text/table-lines.ts'

type Shown = Pick<Card, 'title' | 'icon' | 'html'>

const usualWidth = 80

/** A card for a terminal, where every character is as wide as the next: tables have columns, lines end at the width. */
export function cardText({ width = usualWidth, ...card }: Shown & { width?: number }): string {
  return withTitle(card, renderLines(readFragment(card.html), { width: Math.max(20, width), table: alignTable }))
}

/** A card for a chat with letters of any width and lines of its own: a row of a table is a line that names its columns. */
export function plainCardText(card: Shown): string {
  return withTitle(card, renderLines(readFragment(card.html), { width: Number.POSITIVE_INFINITY, table: tableLines }))
}

function withTitle({ title, icon }: Shown, lines: string[]): string {
  const heading = [iconPicture(icon), title].filter(Boolean).join(' ')
  return [...(heading === '' ? [] : [heading, '']), ...lines].join('\n').trimEnd()
}
