import type { Card } from '../../../src/protocol/card.ts'
import type { CardDocumentReply } from '../../../src/protocol/page-api.ts'
import { useAnswer } from '../api/use-answer.ts'
import { CardView } from '../components/card-view.tsx'

/** What a call in a conversation showed. */
export function CardFrame({ card, callId, sessionId }: { card: Card; callId: string; sessionId: string }) {
  const { data } = useAnswer<CardDocumentReply>(`/sessions/${sessionId}/cards/${encodeURIComponent(callId)}`)
  return <CardView card={card} document={data?.document} />
}
