import type { ReactNode } from 'react'
import { Facts } from '../../components/facts.tsx'
import { Link } from '../../shell/link.tsx'
import { inputText } from './input-text.ts'
import type { OverlayProps } from './overlay.ts'

export function showSchedule({ tool }: OverlayProps): ReactNode {
  const message = inputText(tool.input, 'message')
  if (message === '' || tool.result?.isError) return null
  const next = /\(next ([^;)]+)/.exec(tool.result?.text ?? '')?.[1]
  return (
    <div className="space-y-2">
      <Facts
        facts={[
          ['What', message],
          ['When', inputText(tool.input, 'at') || inputText(tool.input, 'cron')],
          ['Next', next],
        ]}
      />
      <Link href="/schedules" className="text-sm text-accent hover:underline">
        All schedules
      </Link>
    </div>
  )
}
