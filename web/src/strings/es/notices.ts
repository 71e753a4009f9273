import { formatNumber } from '../format.ts'

const headline = {
  approval: 'Se necesita aprobación',
  question: 'Familiar tiene una pregunta',
  build_ready: 'Nueva herramienta lista',
  build_failed: 'Creación fallida',
  repair_ready: 'Herramienta reparada',
  repair_failed: 'Reparación fallida',
  schedule: 'Tarea programada terminada',
  reply: 'Nueva respuesta',
  reply_failed: 'Respuesta fallida',
}

const toasts: Partial<Record<keyof typeof headline, (name: string) => string>> = {
  build_ready: (name) => `«${name}» está lista para usar`,
  repair_ready: (name) => `«${name}» está reparada`,
  build_failed: (name) => `La creación de «${name}» ha fallado. Abre el registro para ver los detalles.`,
  repair_failed: (name) => `La reparación de «${name}» ha fallado. Abre el registro para ver los detalles.`,
}

export const offlineStrings = {
  notRunning: 'Familiar no está en marcha',
  startIt: 'Inícialo en un terminal de su equipo, o comprueba la red de este dispositivo:',
  opensByItself: 'Esta página se abre sola en cuanto Familiar responde.',
  waitingMessages: 'Mensajes que se enviarán entonces',
  onlyFiles: 'Archivos sin texto',
  cannotReach: 'No se puede conectar con Familiar. Los mensajes se guardan aquí y se envían cuando vuelva.',
  waitingForConnection: 'Esperando conexión',
  notSent: (reason: string) => `No enviado: ${reason}`,
  alreadySent: 'El mensaje ya se había enviado.',
}

export const noticeStrings = {
  title: 'Notificaciones',
  unread: (count: number) => `Notificaciones (${formatNumber(count)} sin leer)`,
  headline,
  toast: (kind: keyof typeof headline, name: string) => toasts[kind]?.(name) ?? `${headline[kind] ?? kind}: ${name}`,
  show: 'Mostrar',
  none: 'Nada nuevo',
  noneHint: 'Aquí aparecen aprobaciones, preguntas, creaciones terminadas, tareas programadas y respuestas sin leer.',
  turnOn: 'Activar notificaciones',
  markAllRead: 'Marcar todo como leído',
  settings: 'Ajustes de notificaciones',
  systemNotifications: 'Notificaciones en este dispositivo',
  stateHint: {
    absent:
      'Este navegador no muestra notificaciones aquí. Necesitan HTTPS, o la página en el equipo donde se ejecuta Familiar.',
    blocked: 'Este navegador bloquea las notificaciones de Familiar. Permítelas en los ajustes del sitio.',
    off: 'Se muestran mientras Familiar está en segundo plano.',
    on: 'Se muestran mientras Familiar está en segundo plano.',
  },
  announceThese: 'Notificarme sobre',
  groups: {
    approvals: 'Aprobaciones',
    questions: 'Preguntas',
    builds: 'Creaciones terminadas',
    schedules: 'Tareas programadas',
    replies: 'Respuestas',
  },
  bellShowsAll: 'La lista de la campana las muestra todas.',
}
