import { useEffect, useState } from 'react'
import type { Card } from '../../../../src/protocol/card.ts'
import type { CardDocumentReply } from '../../../../src/protocol/page-api.ts'
import { ask } from '../../api/ask.ts'
import { CardView } from '../../components/card-view.tsx'

/** The card of a run that is in no conversation. */
export function RunCard({ card }: { card: Card }) {
  const [document, setDocument] = useState<string>()
  useEffect(() => {
    const controller = new AbortController()
    ask<CardDocumentReply>('/page/card', { body: card, signal: controller.signal })
      .then((reply) => setDocument(reply.document))
      // Its text stands below the frame in any case.
      .catch(() => undefined)
    return () => controller.abort()
  }, [card])
  return <CardView card={card} document={document} />
}
