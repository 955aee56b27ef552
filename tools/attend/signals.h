/* Ctrl-C, SIGTERM, SIGHUP and SIGUSR1 (a batch system's warning before the time limit): long work
 * asks whether one has arrived and ends in order. */
#ifndef SIGNALS_H
#define SIGNALS_H

/* From now on the first SIGINT, SIGTERM or SIGUSR1 is only recorded; a second one ends the program.
 * Every SIGHUP is only recorded, unless it is ignored, as under nohup: then it stays ignored. */
void signals_catch(void);

/* The number of the signal that arrived; 0: none. */
int signals_caught(void);

/* Ends the process by the signal that arrived, as it would have without signals_catch(), so that a
 * shell script that called the program stops too. Returns at once if none arrived. */
void signals_raise(void);

#endif
