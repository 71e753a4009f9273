import { Logger as WorkerLogger } from 'graphile-worker'
import type { Logger } from '../../../base/logger.ts'

/** What graphile-worker says, in our log. That a job came and went is of use only to whoever looks for a fault. */
export function workerLogger(logger: Logger): WorkerLogger {
  return new WorkerLogger(() => (level, message) => {
    if (level === 'error') logger.error('worker', { message })
    else if (level === 'warning') logger.warn('worker', { message })
    else logger.debug('worker', { message })
  })
}
