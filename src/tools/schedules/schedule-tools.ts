import type { Tool } from '../tool.ts'
import { createCancelScheduled } from './cancel-scheduled.ts'
import { createListScheduled } from './list-scheduled.ts'
import { createScheduleMessage } from './schedule-message.ts'
import type { Schedules } from './schedules.ts'

/** What a conversation does about messages that are sent later (SCHED-1). */
export function createScheduleTools(needs: { schedules: Schedules }): Tool[] {
  return [createScheduleMessage(needs), createListScheduled(needs), createCancelScheduled(needs)]
}
