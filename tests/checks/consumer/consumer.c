/* A program outside the tree that uses the installed library. */
#include <attend.h>

#include <stdio.h>

int main(void)
{
    printf("attend %s: %s\n", att_version(), att_status_name(ATT_OK));
    return 0;
}
