import { usePlace } from '../shell/router.ts'
import { ContextView } from './context/context-view.tsx'
import { LiveView } from './live/live-view.tsx'
import { TraceView } from './trace/trace-view.tsx'

/** What it does now; `/monitor/context/<session>` is what fills a window, `/monitor/turn/<session>/<turn>` how a turn went. */
export function MonitorScreen() {
  const { path } = usePlace()
  const context = /^\/monitor\/context\/([\w-]+)$/.exec(path)?.[1]
  const [, session, turn] = /^\/monitor\/turn\/([\w-]+)(?:\/([\w-]+))?$/.exec(path) ?? []
  if (context !== undefined) return <ContextView key={context} sessionId={context} />
  if (session !== undefined) return <TraceView key={`${session} ${turn}`} sessionId={session} turnId={turn} />
  return <LiveView />
}
