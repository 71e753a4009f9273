import type { Telemetry } from '../../monitor/telemetry/telemetry.ts'

/** Whether this daemon takes work. */
export interface HttpHealth {
  /** Answers soon whatever the database does, and never rejects. */
  isReady(): Promise<boolean>
}

/** How this server is looked at from outside. */
export interface HttpObservation {
  telemetry: Telemetry
  health: HttpHealth
}
