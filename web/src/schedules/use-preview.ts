import { useEffect, useState } from 'react'
import type { SchedulePreviewReply } from '../../../src/protocol/schedule-api.ts'
import { ask } from '../api/ask.ts'

export type PlannedTime = { at: string } | { cron: string } | { every: string }

interface Preview {
  reply?: SchedulePreviewReply
  problem?: string
}

/** When a time that is being typed would come. Nothing is asked where nothing is typed. */
export function usePreview(time: PlannedTime, timeZone: string): Preview {
  const [preview, setPreview] = useState<Preview>({})
  const typed = Object.values(time)[0]?.trim() ?? ''
  const key = JSON.stringify(time)

  useEffect(() => {
    if (typed === '') return setPreview({})
    const controller = new AbortController()
    const timer = setTimeout(() => {
      ask<SchedulePreviewReply>('/schedules/preview', {
        body: { ...(JSON.parse(key) as PlannedTime), time_zone: timeZone },
        signal: controller.signal,
      }).then(
        (reply) => setPreview({ reply }),
        (error: Error) => !controller.signal.aborted && setPreview({ problem: error.message }),
      )
    }, 250)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [key, typed, timeZone])

  return preview
}
