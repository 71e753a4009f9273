import { useEffect, useRef, useState } from 'react'
import { ask } from '../../api/ask.ts'

/** Something that is run by hand and takes its time: what came of it, and a way to stop it. Leaving the screen stops it too. */
export function useRun<Reply>(path: string) {
  const [reply, setReply] = useState<Reply>()
  const [error, setError] = useState<Error>()
  const [isBusy, setIsBusy] = useState(false)
  const controller = useRef<AbortController>(undefined)
  useEffect(() => () => controller.current?.abort(), [])

  async function run(body: object): Promise<void> {
    const mine = new AbortController()
    controller.current = mine
    setIsBusy(true)
    setError(undefined)
    setReply(undefined)
    try {
      setReply(await ask<Reply>(path, { body, signal: mine.signal }))
    } catch (cause) {
      if (!mine.signal.aborted) setError(cause as Error)
    } finally {
      if (controller.current === mine) setIsBusy(false)
    }
  }

  return { run, stop: () => controller.current?.abort(), reply, error, isBusy }
}
