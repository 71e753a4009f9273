import { Logger as WorkerLogger } from 'graphile-worker'
import type { Logger } from '../../../base/logger.ts'

/**
 * It advises as many connections, and as many jobs fetched at once, as there are places. Jobs here do not use its
 * connections, and what is fetched ahead of a free place is kept from the other daemons.
 */
const beside = /^(WARNING: having maxPoolSize|Your job batch size)/

/** What graphile-worker says, in our log. That a job came and went is of use only to whoever looks for a fault. */
export function workerLogger(logger: Logger): WorkerLogger {
  return new WorkerLogger(() => (level, message) => {
    if (level === 'error') logger.error('worker', { message })
    else if (level === 'warning' && !beside.test(message)) logger.warn('worker', { message })
    else logger.debug('worker', { message })
  })
}
