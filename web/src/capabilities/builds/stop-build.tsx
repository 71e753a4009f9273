import { useState } from 'react'
import type { BuildStopReply } from '../../../../src/protocol/build-api.ts'
import { ask } from '../../api/ask.ts'
import { Button } from '../../components/button.tsx'
import { useToasts } from '../../components/toast.tsx'

export function StopBuild({ id }: { id: string }) {
  const toasts = useToasts()
  const [isBusy, setIsBusy] = useState(false)

  async function stop(): Promise<void> {
    setIsBusy(true)
    try {
      const { stopped } = await ask<BuildStopReply>(`/builds/${encodeURIComponent(id)}/stop`, { body: {} })
      toasts.done(stopped ? 'The build is stopped.' : 'It had ended already.')
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <Button size="small" isBusy={isBusy} onClick={() => void stop()}>
      Stop the build
    </Button>
  )
}
