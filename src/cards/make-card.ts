import type { Card } from '../protocol/card.ts'
import type { Json } from '../protocol/json.ts'
import { cardIcon } from './card-icon.ts'
import { cardText } from './card-text.ts'
import { cssColour } from './css-colour.ts'
import { fillTitle, plainTitle } from './fill-title.ts'
import { sanitiseCard } from './sanitise-card.ts'

interface CardSource {
  /** As the tool wrote it. */
  html: string | null | undefined
  /** What this run is called; its manifest's title is for all of them. */
  title?: string | null | undefined
  manifestTitle?: string | null | undefined
  params?: Readonly<Record<string, Json>> | undefined
  accentColor?: string | null | undefined
  backgroundColor?: string | null | undefined
  icon?: string | null | undefined
}

/** The card of a tool's answer; undefined where the answer has nothing to show. Every part of it is foreign text. */
export function makeCard({
  html,
  title,
  manifestTitle,
  params = {},
  accentColor,
  backgroundColor,
  icon,
}: CardSource): Card | undefined {
  const safe = sanitiseCard(html ?? '')
  if (safe.trim() === '') return undefined
  const shown = {
    title: plainTitle(title ?? '') || fillTitle(manifestTitle ?? '', params),
    icon: cardIcon(icon),
    html: safe,
  }
  return {
    ...shown,
    text: cardText(shown),
    accentColor: cssColour(accentColor ?? '') ?? null,
    backgroundColor: cssColour(backgroundColor ?? '') ?? null,
  }
}
